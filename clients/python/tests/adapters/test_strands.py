"""Sessions of Strands Agents."""

import os
import random
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from strands import Agent, tool
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.models import Model
from strands.session.repository_session_manager import RepositorySessionManager
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from sessiond import Client, InputError, StaleError
from sessiond.strands import SessiondRepository

from ..support.process import Server
from ..support.wire import Wire, forked
from .others import AS_TEXT, DEEP, LAST, order


class Script(Model):
    """A model that says what it is given: texts, or calls of tools without arguments as `call:NAME`."""

    stateful = False

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.seen: list[Any] = []

    def update_config(self, **config: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        self.seen = [dict(message) for message in messages]
        text = self.answers.pop(0)
        name = text.removeprefix("call:")
        yield {"messageStart": {"role": "assistant"}}
        if name != text:
            yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "t1", "name": name}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": "{}"}}}}
        else:
            yield {"contentBlockDelta": {"delta": {"text": text}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if name != text else "end_turn"}}


def agent(repository: SessiondRepository, model: Script, *tools: Any, id: str = "host") -> Agent:
    manager = RepositorySessionManager(session_id="s", session_repository=repository)
    return Agent(model=model, tools=list(tools), agent_id=id, session_manager=manager, callback_handler=None)


def message(text: str, number: int, role: Any = "user", **more: Any) -> SessionMessage:
    return SessionMessage.from_message({"role": role, "content": [{"text": text}, *more.get("blocks", ())]}, number)


@pytest.fixture
def repository(plain_db: Client, app: str) -> SessiondRepository:
    return SessiondRepository(app=app, user="ada", client=plain_db)


@pytest.fixture
def made(repository: SessiondRepository) -> SessiondRepository:
    """One that has a session with an agent."""
    repository.create_session(Session(session_id="s", session_type=SessionType.AGENT))
    repository.create_agent("s", SessionAgent(agent_id="host", state={}, conversation_manager_state={}))
    return repository


def test_what_was_said_is_there_for_all(repository: SessiondRepository, plain_db: Client, app: str) -> None:
    @tool
    def brew() -> str:
        """Makes a tea."""
        return "a green tea"

    agent(repository, Script("call:brew", "Coming up."), brew)("A tea")
    said = [event for event in plain_db.session(app, "ada", "s").events() if event.content]
    assert [event.author for event in said] == ["user", "host", "host", "host"]
    assert [event.content["parts"][0] for event in said] == [
        {"text": "A tea"},
        {"functionCall": {"id": "t1", "name": "brew", "args": {}}},
        {"functionResponse": {"id": "t1", "response": {"result": "a green tea"}}},
        {"text": "Coming up."},
    ]
    assert [event.content["role"] for event in said] == ["user", "model", "user", "model"]
    # Another object, as in another process.
    model = Script("You are welcome.")
    other = agent(SessiondRepository(app=app, user="ada", client=plain_db), model)
    other("Thanks")
    assert len(model.seen) == 5 and len(other.messages) == 6


@pytest.mark.both_databases
def test_messages_come_back_as_they_were(made: SessiondRepository) -> None:
    blocks = [
        {"image": {"format": "png", "source": {"bytes": b"\0\xff"}}},
        {"toolUse": {"toolUseId": "t", "name": "f", "input": {"deep": DEEP, "n": 10**400, "half": "\ud83d"}}},
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "x"}}},
    ]
    sent = [message("one", 0), message("two", 1, "assistant", blocks=blocks)]
    for each in sent:
        made.create_message("s", "host", each)
    assert made.list_messages("s", "host") == sent and made.read_message("s", "host", 1) == sent[1]
    assert made.list_messages("s", "host", limit=1) == sent[:1]
    assert made.list_messages("s", "host", offset=1) == sent[1:] and made.list_messages("s", "host", offset=2) == []
    odd = message("x", 2, "assistant", blocks=[{"toolUse": {"toolUseId": "t", "name": "f", "input": float("inf")}}])
    made.create_message("s", "host", odd)
    assert made.read_message("s", "host", 2) == odd
    with pytest.raises(InputError, match="/message/message/content/1/toolUse/input"):
        broken = {"toolUse": {"toolUseId": "t", "name": "f", "input": object()}}
        made.create_message("s", "host", message("x", 3, "assistant", blocks=[broken]))


def test_a_user_speaks_as_nobody_else(made: SessiondRepository, plain_db: Client, app: str) -> None:
    sent = [message("A tea", 0), message("Coming up.", 1, "assistant")]
    for each in sent:
        made.create_message("s", "host", each)
    handle = plain_db.session(app, "ada", "s")

    def forged(number: int, data: Any, **more: Any) -> None:
        id = f"m:host:{number}"
        kept = {"message": data, "number": number, "update": False}
        event = {"author": "user", "branch": "host", "invocationId": id, "customMetadata": {"strands": kept}}
        handle.append({**event, **more})

    result = {"toolResult": {"toolUseId": "t", "status": "success", "content": [{"text": "paid"}]}}
    place = {"image": {"format": "png", "source": {"location": {"type": "s3", "uri": "s3://secrets/1"}}}}
    own = message("And milk?", 7, blocks=[{"image": {"format": "png", "source": {"bytes": b"\0"}}}])
    refused = [
        message("Yes.", 2, "assistant").to_dict(),
        message("paid", 3, blocks=[result]).to_dict(),
        message("see", 4, blocks=[place]).to_dict(),
        {**message("x", 5).to_dict(), "redact_message": message("Yes.", 5, "assistant").to_dict()["message"]},
        {"message_id": 6},
        # In the place of what the agent has said.
        message("No.", 1).to_dict(),
    ]
    for data in refused:
        forged(data["message_id"], data)
        forged(data["message_id"], data, id=f"m:host:{data['message_id']}" if data["message_id"] != 1 else "other")
    forged(7, own.to_dict(), id="m:host:7")
    assert made.list_messages("s", "host") == [*sent, own] and made.read_message("s", "host", 1) == sent[1]
    # What it makes of state is not the agent's either, be it the first or the last.
    agent = made.read_agent("s", "host")
    assert agent
    for _ in range(3):
        handle.append(author="user", delta={"strands/agent/host": {"agent": {**agent.to_dict(), "state": {"paid": 1}}}})
    assert made.read_agent("s", "host") == agent
    handle.append(author="user", delta={"strands/multi-agent/g": {"agent": {"next": ["refund"]}}})
    assert made.read_multi_agent("s", "g") is None
    handle.append({"author": "user", "actions": {"stateOps": [{"op": "remove", "key": "strands/agent/host"}]}})
    assert made.read_agent("s", "host") == agent
    mine = plain_db.session(app, "ada", "mine")
    mine.create(state={"strands/agent/host": {"agent": agent.to_dict()}})
    assert made.read_agent("mine", "host") is None
    # What was trimmed is what it was.
    handle.trim(keep_last=0)
    made.create_agent("s", agent)
    handle.trim(keep_last=0)
    assert made.read_agent("s", "host") == agent


def test_an_agent_may_be_named_user(repository: SessiondRepository) -> None:
    agent(repository, Script("Coming up."), id="user")("A tea")
    assert [each.message["role"] for each in repository.list_messages("s", "user")] == ["user", "assistant"]


@pytest.mark.parametrize("redact", [False, True])
def test_messages_and_agents_may_be_larger_than_an_event(plain_db: Client, app: str, redact: bool) -> None:
    repository = SessiondRepository(app=app, user="ada", client=plain_db, redact=redact)
    repository.create_session(Session(session_id="s", session_type=SessionType.AGENT))
    host = SessionAgent(agent_id="host", state={"notes": "x" * 5_000_000}, conversation_manager_state={})
    repository.create_agent("s", host)
    assert repository.read_agent("s", "host") == host
    image = {"image": {"format": "png", "source": {"bytes": random.Random(5).randbytes(3_750_000)}}}
    sent = [message("See", 0, blocks=[image]), message("I see.", 1, "assistant", blocks=[image])]
    for each in sent:
        repository.create_message("s", "host", each)
    assert repository.list_messages("s", "host") == sent
    handle = plain_db.session(app, "ada", "s")
    assert len(list(handle.artifacts.list(prefix="strands/"))) == 3
    fork = handle.fork(id="f")
    assert repository.list_messages("f", "host") == sent and repository.read_agent("f", "host") == host
    fork.delete()
    hidden = message("[redacted]", 0)
    hidden.redact_message = hidden.message
    repository.update_message("s", "host", hidden)
    assert repository.list_messages("s", "host") == [hidden, sent[1]]
    # What is gone for good is no file either.
    assert len(list(handle.artifacts.list(prefix="strands/"))) == (2 if redact else 3)
    repository.delete_session("s")
    with pytest.raises(SessionException):
        repository.update_agent("s", host)
    assert repository.read_session("s") is None and not [each for each in plain_db.sessions(app) if each.id == "s"]


def test_an_id_is_one_session(repository: SessiondRepository) -> None:
    for id in ("ann ", "\tann", " "):
        with pytest.raises(InputError, match="id of the session"):
            repository.create_session(Session(session_id=id, session_type=SessionType.AGENT))
        with pytest.raises(InputError, match="id of the session"):
            repository.list_messages(id, "host")


def test_what_is_not_there(repository: SessiondRepository) -> None:
    assert repository.read_session("s") is None and repository.read_agent("s", "host") is None
    assert repository.read_message("s", "host", 0) is None and repository.list_messages("s", "host") == []
    assert repository.read_multi_agent("s", "g") is None
    session = Session(session_id="s", session_type=SessionType.AGENT)
    assert repository.create_session(session) == session
    late = Session(session_id="s", session_type=SessionType.AGENT)
    assert repository.create_session(late) == session == repository.read_session("s")
    made = SessionAgent(agent_id="host", state={"k": 1}, conversation_manager_state={})
    with pytest.raises(SessionException, match="no agent host"):
        repository.update_agent("s", made)
    with pytest.raises(SessionException, match="no message 3"):
        repository.update_message("s", "host", message("x", 3))
    repository.create_agent("s", made)
    changed = SessionAgent(agent_id="host", state={"k": "\ud83d"}, conversation_manager_state={})
    repository.update_agent("s", changed)
    assert repository.read_agent("s", "host") == changed and changed.created_at == made.created_at
    repository.delete_session("s")
    assert repository.read_session("s") is None


@pytest.mark.parametrize("redact", [False, True])
def test_a_guardrail_redacts(plain_db: Client, app: str, redact: bool) -> None:
    repository = SessiondRepository(app=app, user="ada", client=plain_db, redact=redact)
    host = agent(repository, Script("No."))
    host("a password")
    manager: Any = host._session_manager
    manager._latest_agent_message["host"] = repository.read_message("s", "host", 0)
    manager.redact_latest_message({"role": "user", "content": [{"text": "[redacted]"}]}, host)
    first, second = repository.list_messages("s", "host")
    assert first.to_message()["content"] == [{"text": "[redacted]"}] and second.message_id == 1
    texts = [event.text for event in plain_db.session(app, "ada", "s").events()]
    assert ("a password" in texts) is not redact
    assert ("a password" in str(list(plain_db.session(app, "ada", "s").events()))) is not redact


@pytest.mark.both_databases
def test_nothing_is_lost_or_doubled_whatever_gets_lost(made: SessiondRepository, wire: Wire) -> None:
    chance = random.Random(3)
    model: list[SessionMessage] = []
    state = SessionAgent(agent_id="host", state={}, conversation_manager_state={})
    wire.loss = 0.3
    for step in range(120):
        match chance.choices(("add", "update", "agent", "read", "list"), (50, 15, 15, 10, 10))[0]:
            case "add":
                model.append(message(f"{step}", len(model)))
                made.create_message("s", "host", model[-1])
            case "update" if model:
                changed = message(f"{step}", chance.randrange(len(model)))
                made.update_message("s", "host", changed)
                model[changed.message_id] = changed
            case "agent":
                state = SessionAgent(agent_id="host", state={"step": step}, conversation_manager_state={})
                made.update_agent("s", state)
            case "read" if model:
                number = chance.randrange(len(model))
                assert made.read_message("s", "host", number) == model[number]
            case "list":
                offset = chance.randrange(len(model) + 1)
                assert made.list_messages("s", "host", limit=5, offset=offset) == model[offset : offset + 5]
    assert made.list_messages("s", "host") == model and made.read_agent("s", "host").state == state.state


@pytest.mark.both_databases
def test_processes_share_a_session(server: Server, app: str, tmp_path: Path) -> None:
    def work(number: int) -> list[str]:
        # An agent of its own in each process, and one of all.
        repository = SessiondRepository(app=app, user="ada", client=Client(server.url))
        agent(repository, Script(*map(str, range(5))), id=f"agent{number}")
        wrote = []
        for n in range(5):
            repository.create_message("s", f"agent{number}", message(f"{n}", n))
            try:
                repository.create_message("s", "all", message(f"{number}.{n}", n))
                wrote.append(f"{number}.{n}")
            except StaleError as error:
                assert "lease" in str(error)
        return wrote

    wrote = sorted(text for each in forked(tmp_path, work) for text in each)
    repository = SessiondRepository(app=app, user="ada", client=Client(server.url))
    shared = [each.message["content"][0]["text"] for each in repository.list_messages("s", "all")]
    # One of each number, which is the one whose process knows it.
    assert len(shared) == 5 and sorted(shared) == wrote
    for number in range(4):
        assert [each.message_id for each in repository.list_messages("s", f"agent{number}")] == [0, 1, 2, 3, 4]


@pytest.mark.both_databases
def test_another_process_goes_on_after_a_crash(server: Server, app: str, tmp_path: Path) -> None:
    def host(model: Script, *tools: Any) -> Agent:
        return agent(SessiondRepository(app=app, user="ada", client=Client(server.url)), model, *tools)

    @tool
    def brew() -> str:
        """Ends the process."""
        os._exit(9)

    assert forked(tmp_path, lambda _: host(Script("call:brew"), brew)("A tea"), 1) == [9]
    model = Script("Here.")
    assert str(host(model)("Where is my tea?")).strip() == "Here."
    # Strands answers the call itself of which there is no result.
    assert [each["role"] for each in model.seen[:2]] == ["user", "assistant"]
    assert model.seen[0]["content"] == [{"text": "A tea"}] and "toolResult" in model.seen[2]["content"][0]


def test_what_an_operation_costs(made: SessiondRepository, wire: Wire) -> None:
    for size in (10, 100, 1000):
        id = f"a{size}"
        made.create_agent("s", SessionAgent(agent_id=id, state={}, conversation_manager_state={}))
        session = made._handle("s")
        data = [(message(f"{n:04}", n), n) for n in range(size)]
        for begin in range(0, size, 500):
            session.append(
                [
                    {
                        "id": f"m:{id}:{n}",
                        "author": "user",
                        "branch": id,
                        "invocationId": f"m:{id}:{n}",
                        "customMetadata": {"strands": {"message": each.to_dict(), "number": n, "update": False}},
                    }
                    for each, n in data[begin : begin + 500]
                ]
            )

        def cost(operation: Any, *arguments: Any, **more: Any) -> tuple[int, int]:
            wire.begin()
            operation("s", *arguments, **more)
            return wire.requests, wire.bytes

        state = SessionAgent(agent_id=id, state={"k": 1}, conversation_manager_state={})
        assert cost(made.create_message, id, message("last", size)) < (1, 2000)
        assert cost(made.read_message, id, 3) < (1, 1000)
        assert cost(made.update_message, id, message("changed", 3)) < (2, 3000)
        assert cost(made.update_agent, state) < (1, 2000)
        assert cost(made.list_messages, id, offset=size - 5) < (2, 7000)
        assert cost(made.list_messages, id) < (2, 800 * (size + 2))


def texts(messages: Any) -> list[tuple[str, str]]:
    """Who says what, calls and results by their names."""

    def words(block: Any) -> str:
        call, result = block.get("toolUse"), block.get("toolResult")
        return block.get("text") or (call and f"call {call['name']}") or f"result {result['content'][0]['text']}"

    return [(each["role"], " ".join(map(words, each["content"]))) for each in messages]


OTHERS = [
    ("user", "A green tea, please."),
    ("assistant", "[barista] One moment. call brew"),
    ("user", "result a green tea"),
    ("assistant", LAST),
]


def test_what_others_said(plain_db: Client, app: str) -> None:
    handle = plain_db.session(app, "ada", "s")
    handle.append(order(), create=True)

    def reading(**more: Any) -> SessiondRepository:
        return SessiondRepository(app=app, user="ada", client=plain_db, **{"others": True, **more})

    def run(said: str, answer: str, repository: SessiondRepository) -> Any:
        model = Script(answer)
        manager = RepositorySessionManager(session_id="s", session_repository=repository)
        begun = repository.others("s", "host") if repository._others else []
        host = Agent(model=model, agent_id="host", session_manager=manager, messages=begun, callback_handler=None)
        host(said)
        return texts(model.seen)

    cake = [("user", "And a cake."), ("assistant", "With cream?")]
    assert run("And a cake.", "With cream?", reading()) == [*OTHERS, cake[0]]
    handle.append(order("coffee"))
    coffee = [(role, words.replace("green tea", "coffee")) for role, words in OTHERS]
    assert run("Yes.", "Coming up.", reading()) == [*OTHERS, *cake, *coffee, ("user", "Yes.")]
    # Nothing of it is stored again, and without `others` it is what Strands has stored.
    said = [event for event in handle.events() if event.content]
    assert len(said) == 14 and [event.author for event in said[12:]] == ["user", "host"]
    own = [*cake, ("user", "Yes."), ("assistant", "Coming up.")]
    assert run("Thanks.", "Welcome.", reading(others=False)) == [*own, ("user", "Thanks.")]
    as_text = reading(others={"bake"}.__contains__).others("s", "other")
    assert texts(as_text)[:2] == [OTHERS[0], ("assistant", f"{AS_TEXT} {LAST}")]
    # An agent of that name is this one. A model does not begin.
    handle.rewind(to_revision=0)
    handle.append(author="barista", content={"role": "model", "parts": [{"text": "Hello."}]})
    handle.append(author="user", content={"role": "user", "parts": [{"text": "Hi."}]})
    assert texts(reading().others("s", "barista")) == [("user", "Hello. Hi.")]


def test_what_was_removed_stays_so(plain_db: Client, app: str) -> None:
    handle = plain_db.session(app, "ada", "s")
    handle.append(order(), create=True)

    def run(said: str, window: int) -> Any:
        repository = SessiondRepository(app=app, user="ada", client=plain_db, others=True)
        manager = RepositorySessionManager(session_id="s", session_repository=repository)
        model = Script("Yes.")
        host = Agent(
            model=model,
            agent_id="host",
            session_manager=manager,
            messages=repository.others("s", "host"),
            conversation_manager=SlidingWindowConversationManager(window_size=window),
            callback_handler=None,
        )
        host(said)
        return texts(model.seen)

    run("one", 40)
    handle.append(author="user", content={"role": "user", "parts": [{"text": "meanwhile"}]})
    run("two", 2)
    assert run("three", 40) == [("user", "two"), ("assistant", "Yes."), ("user", "three")]
    handle.append(order("coffee"))
    seen = run("four", 40)
    assert seen[:3] == [("user", "two"), ("assistant", "Yes."), ("user", "three")]
    assert ("user", "A coffee, please.") in seen and seen[-1] == ("user", "four")
    assert [event.invocation_id for event in handle.events() if event.branch == "host" and event.content][-2:] == [
        "m:host:10",
        "m:host:11",
    ]


def test_others_do_not_come_between_what_belongs_together(made: SessiondRepository, plain_db: Client, app: str) -> None:
    call = {"toolUse": {"toolUseId": "t", "name": "brew", "input": {}}}
    result = {"toolResult": {"toolUseId": "t", "status": "success", "content": [{"text": "tea"}]}}
    made.create_message("s", "host", message("A tea", 0))
    made.create_message("s", "host", message("Yes.", 1, "assistant", blocks=[call]))
    plain_db.session(app, "ada", "s").append(author="user", content={"parts": [{"text": "Are you there?"}]})
    made.create_message("s", "host", message("", 2, blocks=[result]))
    reading = SessiondRepository(app=app, user="ada", client=plain_db, others=True)
    found = reading.list_messages("s", "host")
    assert [each.message["content"][0].get("text") for each in found] == ["A tea", "Are you there?", "Yes.", ""]
    # The number of each is that of the last one of its own.
    assert [each.message_id for each in found] == [0, 0, 1, 2]
