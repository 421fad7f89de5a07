"""The conversation of a session, without a framework: what people and models said and did, whatever has written it."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ._json import dumps
from ._langgraph import CHECKPOINT, branch

# Files that adapters keep objects in are not what was said.
_OWN_FILES = ("aiSdk/", "claude/", "lg/", "oai/", "pydantic/", "strands/")

# Calls by which ADK asks its own client, for credentials too.
_ADK = "adk_"

# Behind it, times are milliseconds: the compactions of ADK for Java count so.
_YEAR_10000 = 253402300800


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a tool, with its result."""

    id: str
    """As its author named it: unique among the calls of a message, as a rule in the session."""
    name: str
    args: Mapping[str, Any]
    result: Mapping[str, Any]
    """What the tool answered; a text as `{"result": text}`."""


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """A file that was sent or saved: its bytes, where it is, or an artifact of the session."""

    name: str | None = None
    """Of an artifact, its name; else the one for people."""
    content_type: str | None = None
    data: bytes | None = None
    uri: str | None = None
    version: int | None = None
    """Of an artifact."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """What somebody said or did at a time: an event, told without a framework."""

    id: str
    """Of the event."""
    sequence: int
    """The number of the event. They grow, but for that of a summary, which stands where what it sums up ended."""
    timestamp: float
    """When it was made, in Unix seconds, by the clock of who made it."""
    author: str
    """`user`, or the name of an agent."""
    role: Literal["user", "model"]
    """Who is heard: a person, or a model with its tools."""
    text: str
    """What was said, without thoughts. Behind it, each on a line in brackets: a call that has no result, and a result
    whose call is not there."""
    calls: tuple[Call, ...] = ()
    """The calls that have a result, which may be said by a later event."""
    files: tuple[Attachment, ...] = ()
    branch: str | None = None
    """The branch of the event."""


def conversation(events: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Returns what people and models said and did, in order, of events of ADK and of all adapters.

    Each event that says something is a message. Of an author `user` it takes what users can say, texts and files, and
    nothing that is said in the role of a model. What is not told: thoughts, what adapters keep of an object beside
    what it says, the inner talk of subgraphs and subagents (of LangGraph and Claude), and ADK's requests to its own
    client. A call belongs to the next results of its id, of which the last counts.

    Args:
      events: Those of the effective history, in the order of the log: `session.events(effective=True)`. A summary takes
        the place of what it covers.
    """
    said: list[_Said] = []
    open_calls: dict[str, _Call] = {}
    shown: Any = None
    for event in events:
        if _is_inner(event):
            continue
        if event.get("author") == CHECKPOINT:
            # Each checkpoint shows the last message that there is.
            shown, before = event.get("content"), shown
            if shown == before:
                continue
        each = _Said(event, open_calls)
        at = len(said)
        while each.is_summary and at and said[at - 1].time > each.time:
            at -= 1
        said.insert(at, each)
    return [message for each in said if (message := each.message()) is not None]


@dataclass
class _Call:
    id: str
    name: str
    args: Mapping[str, Any]
    result: Mapping[str, Any] | None = None


class _Said:
    """What an event says, with calls that later events may answer."""

    def __init__(self, event: Mapping[str, Any], open_calls: dict[str, _Call]) -> None:
        self.event = event
        self.author = event.get("author") or "model"
        self.time: float = event.get("timestamp", 0.0)
        self.is_summary = False
        self._parts: list[str | _Call] = []
        """Texts, lines in brackets, calls."""
        self._files: list[Attachment] = []
        self._open = open_calls
        content = event.get("content")
        actions = event.get("actions")
        actions = actions if isinstance(actions, Mapping) else {}
        compaction = actions.get("compaction")
        if isinstance(compaction, Mapping) and isinstance(compaction.get("compactedContent"), Mapping):
            content = compaction["compactedContent"]
            # ADK's summaries are written in the name of the user.
            self.author = "model" if self.author == "user" else self.author
            end = compaction.get("endTimestamp")
            end = float(end) if isinstance(end, int | float) else 0.0
            self.is_summary, self.time = True, end / 1000 if end >= _YEAR_10000 else end
        role, parts = (content.get("role"), content.get("parts")) if isinstance(content, Mapping) else (None, None)
        parts = [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
        if self.author == CHECKPOINT and role == "user" and not any("functionResponse" in part for part in parts):
            # The input of a graph.
            self.author = "user"
        # What a user can have said: docs/access.md, Roles.
        for part in parts if self.author != "user" or role in (None, "user") else ():
            self._take(part, is_users=self.author == "user")
        delta = actions.get("artifactDelta")
        for name, version in delta.items() if isinstance(delta, Mapping) else ():
            if not name.startswith(_OWN_FILES):
                self._files.append(Attachment(name=name, version=version))

    def message(self) -> Message | None:
        """Returns it, when all events were seen; None if it says nothing."""
        calls, lines, texts = list[Call](), list[str](), list[str]()
        for part in self._parts:
            if isinstance(part, str):
                texts.append(part)
            elif part.result is None:
                lines.append(f"[called {part.name}: {json_text(part.args)}]")
            else:
                calls.append(Call(id=part.id, name=part.name, args=part.args, result=part.result))
        text = "\n".join(filter(None, ("".join(texts), *lines)))
        if not (text or calls or self._files):
            return None
        event = self.event
        return Message(
            id=event.get("id", ""),
            sequence=event.get("sequence", 0),
            timestamp=event.get("timestamp", 0.0),
            author=self.author,
            role="user" if self.author == "user" else "model",
            text=text,
            calls=tuple(calls),
            files=tuple(self._files),
            branch=event.get("branch"),
        )

    def _take(self, part: Mapping[str, Any], *, is_users: bool) -> None:
        if part.get("thought"):
            return
        if isinstance(text := part.get("text"), str):
            self._parts.append(text)
        if isinstance(file := part.get("inlineData") or part.get("fileData"), Mapping):
            self._files.append(_attachment(file))
        if is_users:
            return
        if isinstance(call := part.get("functionCall"), Mapping) and not _is_adk(call):
            made = _Call(_word(call.get("id")), _word(call.get("name")) or "a tool", _object(call.get("args")))
            self._parts.append(made)
            if made.id:
                self._open[made.id] = made
        if isinstance(answer := part.get("functionResponse"), Mapping) and not _is_adk(answer):
            result = _object(answer.get("response"))
            if asked := self._open.get(_word(answer.get("id"))):
                asked.result = result
            else:
                self._line(f"[{_word(answer.get('name')) or 'a tool'} answered: {result_text(result)}]")
        if isinstance(code := part.get("executableCode"), Mapping):
            self._line(_word(code.get("code")))
        if isinstance(ran := part.get("codeExecutionResult"), Mapping):
            self._line(f"[the code answered: {_word(ran.get('output')) or _word(ran.get('outcome'))}]")

    def _line(self, text: str) -> None:
        """Adds a text that begins on a line of its own."""
        is_first = not any(isinstance(part, str) for part in self._parts)
        self._parts.append(text if is_first else "\n" + text)


def result_text(result: Mapping[str, Any]) -> str:
    """Returns the result of a call for who wants a text: itself, if it is one, else JSON."""
    only = result.get("result") if result.keys() == {"result"} else None
    return only if isinstance(only, str) else json_text(result)


def json_text(value: Any) -> str:
    """Returns a value as JSON."""
    return dumps(value).decode()


def _is_inner(event: Mapping[str, Any]) -> bool:
    """Whether an event is the inner talk of an agent: of a subgraph, or of a subagent."""
    if event.get("author") == CHECKPOINT:
        return event.get("branch") != branch("")
    kept = event.get("customMetadata")
    return isinstance(kept, Mapping) and "claude" in kept and event.get("branch") != "main"


def _is_adk(part: Mapping[str, Any]) -> bool:
    return _word(part.get("name")).startswith(_ADK)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {} if value is None else {"result": value}


def _word(value: Any) -> str:
    """Returns what is a text, as a rule."""
    return value if isinstance(value, str) else "" if value is None else json_text(value)


def _attachment(file: Mapping[str, Any]) -> Attachment:
    data: bytes | None = None
    if isinstance(said := file.get("data"), str):
        # ADK writes both alphabets, and leaves out what fills the end.
        said = said.replace("-", "+").replace("_", "/").rstrip("=")
        try:
            data = base64.b64decode(said + "=" * (-len(said) % 4), validate=True)
        except ValueError:
            data = None
    # Any of them may be something else: a server keeps content as it is.
    texts = {name: value for name, value in file.items() if isinstance(value, str)}
    return Attachment(
        name=texts.get("displayName"), content_type=texts.get("mimeType"), data=data, uri=texts.get("fileUri")
    )
