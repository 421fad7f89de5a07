"""Sessions of Strands Agents, kept by sessiond. It takes the extra `strands`.

    from sessiond.strands import SessiondRepository

    repository = SessiondRepository(app="cafe", user="ada")
    agent = Agent(session_manager=RepositorySessionManager(session_id="s1", session_repository=repository))

Each message is an event: it is kept as it is, and beside it what was said, for the console and for agents of other
frameworks.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from . import _frameworks
from ._errors import ConflictError, NotFoundError, StaleError
from ._events import absent, exists
from ._frameworks import Kept, call_part, content, response_part, text_part
from ._others import Others
from ._paths import params, whole_id
from ._sync import kept

try:
    from strands.session.session_repository import SessionRepository
    from strands.types.exceptions import SessionException
    from strands.types.session import Session, SessionAgent, SessionMessage, decode_bytes_values

    from ._strands_others import Held, joined, messages_of, place_of, with_others
except ImportError as error:
    raise _frameworks.missing("strands", error) from error

if TYPE_CHECKING:
    from strands.multiagent import MultiAgentBase
    from strands.types.content import Message

    from ._sync.client import Client
    from ._sync.session import Session as Handle

# State of a session: what Strands knows of it, of each agent, and of each graph or swarm. And files: of these and of
# messages, what is too large for an event.
_FILES = "strands/"
_SESSION = "strands/session"
_AGENT = "strands/agent/"
_MULTI_AGENT = "strands/multi-agent/"

# Beside what Strands knows of an agent: behind which place it has what others have said.
_BEHIND = "sessiond_behind"

# `SessionMessage.from_dict` finds these out again for each field of each message.
_FIELDS = frozenset(inspect.signature(SessionMessage).parameters)

# What a prompt has beside texts.
_MEDIA = ("image", "document", "video", "audio")


class SessiondRepository(SessionRepository):
    """A repository of Strands. What a method has written is on disk when it returns, once, whatever answers get lost.

    Two processes that run the same agent in one session at a time collide: one of them gets `StaleError`, and nothing
    of the other's is overwritten. `Session.lease` of the client gives each its turn. Other errors are those of
    `sessiond`, and `SessionException` of what is not there.
    """

    def __init__(
        self, *, app: str, user: str, client: Client | None = None, redact: bool = False, others: Others = False
    ) -> None:
        """Sends nothing.

        Args:
          app: The app that the sessions are in.
          user: Whose they are.
          client: By default one that all share, of SESSIOND_URL and SESSIOND_TOKEN. Its role is `agent` or above.
          redact: A message that a guardrail redacts is removed from the log for good. It takes the role `operator`. By
            default its first text stays there, as in the stores of Strands.
          others: Whether `list_messages` also has what agents of other frameworks and their users have said in the
            session, in its place; for an agent that is new in the session see `others`. Or a function that says whether
            the agent has a tool of this name: calls of others are text.
        """
        self._client = _frameworks.synchronous(client)
        self._app, self._user, self._redact = app, user, redact
        # When agents were made, which an update keeps.
        self._made: dict[tuple[str, str], str] = {}
        self._others = others
        # What agents hold, with the messages of others.
        self._held: dict[tuple[str, str], Held] = {}

    def create_session(self, session: Session, **kwargs: Any) -> Session:
        """Makes a session; returns the one that is there, if there is one."""
        handle = self._handle(session.session_id)
        delta = {_SESSION: session.to_dict()}
        try:
            handle.append(author="strands", delta=delta, when=[absent(_SESSION)], create=True, answer="minimal")
        except StaleError:
            return self.read_session(session.session_id) or session
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:
        """Returns a session; None if there is none."""
        found = kept.written(self._handle(session_id), _SESSION)
        return None if found is None else Session.from_dict(found)

    def delete_session(self, session_id: str, **kwargs: Any) -> None:
        """Deletes a session, if there is one, with all that is in it."""
        self._handle(session_id).delete()

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Stores an agent."""
        self._made[session_id, session_agent.agent_id] = session_agent.created_at
        if self._others:
            self._held[session_id, session_agent.agent_id] = Held(0, 0, [])
        self._set(session_id, _AGENT, session_agent.agent_id, session_agent.to_dict())

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:
        """Returns an agent; None if there is none."""
        found = self._state(session_id, _AGENT + agent_id)
        if found is None:
            return None
        agent = SessionAgent.from_dict(found)
        if self._others:
            removed = agent.conversation_manager_state.get("removed_message_count", 0)
            self._held[session_id, agent_id] = Held(removed, found.get(_BEHIND, 0), [])
        self._made[session_id, agent_id] = agent.created_at
        return agent

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Stores an agent in the place of an earlier one. Raises `SessionException` if there is none."""
        name = (session_id, session_agent.agent_id)
        if name not in self._made and self.read_agent(*name) is None:
            raise SessionException(f"There is no agent {session_agent.agent_id} in the session {session_id}.")
        session_agent.created_at = self._made[name]
        value = session_agent.to_dict()
        if name in self._held:
            value["conversation_manager_state"], value[_BEHIND] = self._held[name].stored(
                session_agent.conversation_manager_state
            )
        self._set(session_id, _AGENT, session_agent.agent_id, value, is_new=False)

    def create_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Appends a message.

        Raises:
          StaleError: There is another message of this number, of another process that runs this agent.
        """
        held = self._held.setdefault((session_id, agent_id), Held(0, 0, [])) if self._others else None
        if held is not None:
            place = place_of(session_message.message)
            held.messages.append((place is not None, session_message.message_id if place is None else place))
            if place is not None:
                # The log has it.
                return
        try:
            self._append(session_id, agent_id, session_message, {"id": _id(agent_id, session_message.message_id)})
        except ConflictError as error:
            if error.code != "event_id_conflict":
                raise
            raise StaleError(
                f"Another process has added the message {session_message.message_id} of the agent {agent_id}. Begin "
                "anew with its messages, and take a lease of the session for each turn.",
                status=error.status,
                problem=error.problem,
            ) from error

    def read_message(self, session_id: str, agent_id: str, message_id: int, **kwargs: Any) -> SessionMessage | None:
        """Returns a message; None if there is none."""
        return self._messages(session_id, invocationId=_id(agent_id, message_id)).get(message_id)

    def update_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Stores a message in the place of an earlier one. Raises `SessionException` if there is none."""
        number = session_message.message_id
        before = self.read_message(session_id, agent_id, number)
        if before is None:
            raise SessionException(f"There is no message {number} of the agent {agent_id} in the session {session_id}.")
        session_message.created_at = before.created_at
        hides = self._redact and session_message.redact_message is not None
        self._append(session_id, agent_id, session_message, {"update": True, "hides": hides})
        if hides:
            handle = self._handle(session_id)
            for event in list(handle.events(invocation_id=_id(agent_id, number)))[:-1]:
                handle.redact(event.id, reason="guardrail")
                for name in (event.actions or {}).get("artifactDelta") or {}:
                    if name.startswith(_FILES):
                        handle.artifacts.delete(name)

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **kwargs: Any
    ) -> list[SessionMessage]:
        """Returns the messages of an agent in order, but for the first `offset`, and at most `limit` of them."""
        after = None
        if offset:
            try:
                after = self._handle(session_id).event(_id(agent_id, offset)).sequence - 1
            except NotFoundError:
                if not self._others:
                    return []
        found = self._numbered(session_id, branch=agent_id, afterSequence=after)
        own = [found[number] for number in sorted(found) if number >= offset]
        if not self._others:
            messages = [message for _, message in own]
        else:
            held = self._held.setdefault((session_id, agent_id), Held(offset, 0, []))
            others = [each for each in self._of_others(session_id, agent_id) if each[0] > held.behind]
            messages = with_others(own, others, offset)
            places = [(place_of(each.message), each.message_id) for each in messages]
            held.messages = [(False, number) if place is None else (True, place) for place, number in places]
        return messages if limit is None else messages[:limit]

    def others(self, session_id: str, agent_id: str) -> list[Message]:
        """Returns what others have said, for an agent that begins: `Agent(messages=...)`, with `others=True`.

        They are not stored again. Of an agent that is in the session already, Strands takes the messages of
        `list_messages` in the place of these.
        """
        return joined(message for _, message in self._of_others(session_id, agent_id))

    def _of_others(self, session_id: str, agent_id: str) -> list[tuple[int, Message]]:
        try:
            events = self._handle(session_id).events(effective=True, page_size=1000)
            return messages_of(events, agent_id, self._others)
        except NotFoundError:
            return []

    def create_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any) -> None:
        """Stores the state of a graph or swarm."""
        self._set(session_id, _MULTI_AGENT, multi_agent.id, multi_agent.serialize_state())

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **kwargs: Any) -> dict[str, Any] | None:
        """Returns the state of a graph or swarm; None if there is none."""
        found: dict[str, Any] | None = self._state(session_id, _MULTI_AGENT + multi_agent_id)
        return found

    def update_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any) -> None:
        """Stores the state of a graph or swarm in the place of an earlier one, which there must be."""
        self._set(session_id, _MULTI_AGENT, multi_agent.id, multi_agent.serialize_state(), is_new=False)

    def _handle(self, session_id: str) -> Handle:
        return self._client.session(self._app, self._user, whole_id(session_id))

    def _state(self, session_id: str, key: str) -> Any:
        handle = self._handle(session_id)
        found = kept.written(handle, key)
        return None if found is None else kept.value(handle, "agent", found)

    def _set(self, session_id: str, prefix: str, id: str, value: dict[str, Any], *, is_new: bool = True) -> None:
        key, handle = prefix + id, self._handle(session_id)
        actions = {"stateDelta": {key: Kept("agent", value)}, "preconditions": [] if is_new else [exists(key)]}
        event = {"author": "strands", "branch": id, "actions": actions}
        try:
            handle.append(kept.stored(handle, [event], _FILES, create=is_new)[0], create=is_new, answer="minimal")
        except (StaleError, NotFoundError) as error:
            raise SessionException(f"There is no {id} in the session {session_id}.") from error

    def _append(self, session_id: str, agent_id: str, message: SessionMessage, how: Mapping[str, Any]) -> None:
        data = message.to_dict()
        said = data["message"]
        if how.get("hides"):
            data["message"] = said = data["redact_message"]
        # An update may be of anything.
        is_users = "id" in how and data["redact_message"] is None and _may_say(said)
        event = {
            **({"id": how["id"]} if "id" in how else {}),
            "author": "user" if is_users else "strands" if agent_id == "user" else agent_id,
            "branch": agent_id,
            "invocationId": _id(agent_id, message.message_id),
            # An update says again what was said, unless that is gone.
            **(_said(said) if "id" in how or how.get("hides") else {}),
            "customMetadata": {
                "strands": Kept("message", data, number=message.message_id, update="update" in how),
            },
        }
        handle, is_new = self._handle(session_id), "id" in how
        handle.append(kept.stored(handle, [event], _FILES, create=is_new)[0], create=is_new, answer="minimal")

    def _messages(self, session_id: str, **which: Any) -> dict[int, SessionMessage]:
        """Returns messages by their numbers, as they were last updated."""
        return {number: message for number, (_, message) in self._numbered(session_id, **which).items()}

    def _numbered(self, session_id: str, **which: Any) -> dict[int, tuple[int, SessionMessage]]:
        """Returns them with the numbers of their first events."""
        found: dict[int, tuple[int, SessionMessage]] = {}
        handle = self._handle(session_id)
        try:
            for page in handle._pages(params(pageSize=1000, **which), {}):
                for event in page:
                    data = kept.said(handle, event, "strands", "message", partial(_is_users, event))
                    if data is not None:
                        number = data["message_id"]
                        first = found[number][0] if number in found else event["sequence"]
                        fields = {name: value for name, value in data.items() if name in _FIELDS}
                        found[number] = first, SessionMessage(**decode_bytes_values(fields))
        except NotFoundError:
            return {}
        return found


def _id(agent_id: str, number: int) -> str:
    return f"m:{agent_id}:{number}"


def _is_users(event: Mapping[str, Any], data: Any) -> bool:
    """Whether a user can have said this: a prompt, which is the first message of its number."""
    is_first = event["id"] == event.get("invocationId") == _id(str(event.get("branch")), data["message_id"])
    return is_first and data.get("redact_message") is None and _may_say(data["message"])


def _may_say(message: Mapping[str, Any]) -> bool:
    """Whether a message is a prompt. What is read from elsewhere, with the rights of the agent, is the agent's."""
    return message["role"] == "user" and all(
        kind in ("text", "cachePoint") or (kind in _MEDIA and "location" not in said["source"])
        for block in message["content"]
        for kind, said in block.items()
    )


def _said(message: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a message says, for people and agents."""
    parts = [part for block in message["content"] for part in _parts(block)]
    return content("user" if message["role"] == "user" else "model", parts)


def _parts(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    if "text" in block:
        return text_part(block["text"])
    if call := block.get("toolUse"):
        return [call_part(call["toolUseId"], call["name"], call["input"])]
    if answer := block.get("toolResult"):
        said = [part.get("json", part.get("text", f"[{next(iter(part), '')}]")) for part in answer["content"]]
        return [response_part(answer["toolUseId"], None, said[0] if len(said) == 1 else said)]
    if thought := (block.get("reasoningContent") or {}).get("reasoningText"):
        return [{**part, "thought": True} for part in text_part(thought["text"])]
    # Bytes are in the message.
    return [part for kind in block if kind != "cachePoint" for part in text_part(f"[{kind}]")]
