"""Transcripts of the Claude Agent SDK, kept by sessiond. It takes the extra `claude`.

    from sessiond.claude import SessiondStore

    options = ClaudeAgentOptions(session_store=SessiondStore(app="cafe"), resume=session_id)

Each entry is an event: it is kept as it is, and beside it what was said, for the console and for agents of other
frameworks.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from . import _frameworks
from ._async import kept
from ._claude_others import first_entry, first_id
from ._errors import ConflictError, InputError, NotFoundError, StaleError
from ._frameworks import Kept, call_part, content, digest, readable, response_part, seen_through, text_part
from ._paths import new_id, params, whole_id

try:
    from claude_agent_sdk import SessionStore, fold_session_summary
except ImportError as error:
    raise _frameworks.missing("claude", error) from error

if TYPE_CHECKING:
    from claude_agent_sdk import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
    )

    from ._async.client import AsyncClient
    from ._async.session import AsyncSession

# State of a session: the SDK's summary, and a key for each subpath. And files: entries that are too large for an event.
_FILES = "claude/"
_SUMMARY = "claude/summary"
_SUB = "claude/sub/"

# Characters of a text of a summary: it is written with each call.
_LONG = 10_000

# The branch of the main transcript.
_MAIN = "main"

# Sessions whose summary is remembered.
_REMEMBERED = 1000


class SessiondStore(SessionStore):
    """A session store of the SDK. A project is a user in sessiond.

    What a method has written is on disk when it returns. An entry with a `uuid` is stored once, and its first content
    stays; one without is stored once for each `append`. Errors are those of `sessiond`.
    """

    def __init__(
        self,
        *,
        app: str,
        client: AsyncClient | None = None,
        user: Callable[[str], str] = lambda project_key: project_key,
        others: bool = False,
    ) -> None:
        """Sends nothing.

        Args:
          app: The app that the sessions are in.
          client: By default one that all share, of SESSIOND_URL and SESSIOND_TOKEN. Its role is `agent` or above.
          user: Returns whose the sessions of a project are; by default a user that is named like the project.
          others: Whether a transcript that is empty begins with what agents of other frameworks and their users have
            said in the session by then, as one message. What they say later is not told.
        """
        self._app = app
        self._client = _frameworks.asynchronous(client)
        self._user = user
        self._others = others
        # The last summary of a session that this process has written, and the revision that it was written at.
        self._summaries: OrderedDict[tuple[str, str], tuple[Any, int] | None] = OrderedDict()
        # Entries are stored in the order of the calls.
        self._locks: WeakValueDictionary[tuple[Any, ...], asyncio.Lock] = WeakValueDictionary()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Stores entries in order, and with those of the main transcript the summary of the session.

        More than 500 of them, or 4 MiB, are several transactions.

        Raises:
          InputError: Entries were refused: it says which. All others are stored.
        """
        entries = [entry for entry in entries if entry.get("uuid") != first_id(key["session_id"])]
        if not entries:
            return
        name = (asyncio.get_running_loop(), key["project_key"], key["session_id"])
        lock = self._locks.setdefault(name, asyncio.Lock())
        async with lock:
            await seen_through(self._append(key, entries))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Returns the entries of a transcript in order; None if there is none."""
        entries: list[Any] = []
        before: int | None = None
        session = self._session(key)
        try:
            async for page in session._pages(params(branch=_branch(key), pageSize=1000), {}):
                for event in page:
                    metadata = event.get("customMetadata")
                    said = metadata.get("claude") if isinstance(metadata, dict) else None
                    if event.get("author") != "user" and isinstance(said, dict) and said.get("deleted"):
                        entries = []
                    elif (entry := await kept.said(session, event, "claude", "entry", _may_say)) is not None:
                        entries.append(entry)
                        before = before or event["sequence"]
            begins = not entries or entries[0].get("parentUuid") == first_id(session.id)
            if self._others and begins and key.get("subpath") is None:
                events = [event async for event in session.events(effective=True, before=before, page_size=1000)]
                first = first_entry(session.id, events)
                entries[:0] = [] if first is None else [first]
        except NotFoundError:
            return None
        return entries or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Returns the sessions of a project that have a main transcript, and when they were written to."""
        return [
            {"session_id": summary["session_id"], "mtime": summary["mtime"]}
            for summary in await self.list_session_summaries(project_key)
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Returns the summaries of the sessions of a project."""
        found: list[SessionSummaryEntry] = []
        async for session in self._client.sessions(
            self._app, self._user(project_key), include_state=True, page_size=1000
        ):
            if isinstance(data := session.state.get(_SUMMARY), dict):
                mtime = int(session.last_update_time * 1000)
                found.append({"session_id": session.id, "mtime": mtime, "data": data})
        return found

    async def delete(self, key: SessionKey) -> None:
        """Deletes a session with all its transcripts; or, with a subpath, the transcript of a subagent.

        Of the latter the log still has the entries, and those of the same `uuid` are not stored again.
        """
        session, subpath = self._session(key), key.get("subpath")
        if subpath is None:
            self._summaries.pop((key["project_key"], key["session_id"]), None)
            await session.delete()
            return
        gone = {"stateOps": [{"op": "remove", "key": _SUB + subpath}]}
        mark = {
            "author": "claude",
            "branch": _branch(key),
            "customMetadata": {"claude": {"deleted": True}},
            "actions": gone,
        }
        try:
            await session.append(mark, answer="minimal")
        except NotFoundError:
            return

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Returns the subpaths of a session."""
        try:
            state = await self._session(key).state(scope="session")
        except NotFoundError:
            return []
        return [name.removeprefix(_SUB) for name in state if name.startswith(_SUB)]

    async def _append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        session = self._session(key)
        refused: list[tuple[Any, InputError]] = []
        ready: list[tuple[Any, dict[str, Any]]] = []
        for entry in entries:
            try:
                ready.append((entry, (await kept.stored(session, [_event(key, entry)], _FILES))[0]))
            except InputError as error:
                refused.append((entry, error))
        for batch in _frameworks.batches(ready, lambda each: each[1]) if ready else ():
            refused += await self._store(session, key, batch)
        if refused:
            # The SDK drops what it cannot store, and goes on: what it can is here by then.
            which = "; ".join(
                f"{entry.get('type')} {entry.get('uuid', 'without uuid')}: {error}" for entry, error in refused
            )
            first = refused[0][1]
            said = f"{len(refused)} of {len(entries)} entries are not stored, the others are: {which}"
            raise InputError(said, status=first.status, problem=first.problem) from first

    async def _store(
        self, session: AsyncSession, key: SessionKey, batch: list[tuple[Any, dict[str, Any]]]
    ) -> list[tuple[Any, InputError]]:
        """Stores entries, at once or, if that is refused, one by one; returns those that are refused."""
        entries, events = [entry for entry, _ in batch], [event for _, event in batch]
        try:
            if key.get("subpath") is None:
                await self._with_summary(session, key, entries, events)
            elif events:
                try:
                    await session.append(events, create=True, answer="minimal")
                except ConflictError as error:
                    await _store_each(session, events, error)
        except InputError as error:
            if len(batch) == 1:
                return [(entries[0], error)]
            return [refused for each in batch for refused in await self._store(session, key, [each])]
        return []

    async def _with_summary(
        self, session: AsyncSession, key: SessionKey, entries: list[Any], events: list[dict[str, Any]]
    ) -> None:
        """Stores entries and the summary in one transaction, after which no other process has written another one."""
        name = (key["project_key"], key["session_id"])
        while True:
            data, revision = self._summaries.pop(name, None) or await _summary_of(session)
            before: Any = data and {"session_id": session.id, "mtime": 0, "data": data}
            folded = fold_session_summary(before, key, entries)["data"]
            data = {name: value[:_LONG] if isinstance(value, str) else value for name, value in folded.items()}
            if not _frameworks.fits(data):
                data = json.loads(readable(json.dumps(data, ensure_ascii=False)), parse_constant=lambda _: None)
            # An event of its own: those of the entries are the same whenever they are appended.
            summary = {"id": new_id(), "author": "claude", "actions": {"stateDelta": {_SUMMARY: data}}}
            try:
                stored = await session.append([*events, summary], create=True, if_revision=revision, answer="minimal")
            except StaleError:
                continue
            except ConflictError as error:
                await _store_each(session, events, error)
                events = []
                continue
            self._summaries[name] = data, stored[-1].sequence
            if len(self._summaries) > _REMEMBERED:
                self._summaries.popitem(last=False)
            return

    def _session(self, key: SessionKey | SessionListSubkeysKey) -> AsyncSession:
        id = whole_id(key["session_id"])
        return self._client.session(self._app, self._user(key["project_key"]), id)


async def _summary_of(session: AsyncSession) -> tuple[Any, int]:
    """Returns the summary, None if there is none, and the revision."""
    try:
        state = await session.state(keys=[_SUMMARY])
    except NotFoundError:
        return None, 0
    data = state.get(_SUMMARY)
    return data if isinstance(data, dict) else None, session.revision


async def _store_each(session: AsyncSession, events: list[dict[str, Any]], error: ConflictError) -> None:
    """Stores events one by one, but for those of which there are others of the same id: the first content stays."""
    if error.code != "event_id_conflict":
        raise error
    for event in events:
        try:
            await session.append(event, create=True, answer="minimal")
        except ConflictError as conflict:
            if conflict.code != "event_id_conflict":
                raise


def _event(key: SessionKey, entry: Any) -> dict[str, Any]:
    """Returns the event of an entry, under the same id for the same entry."""
    id, subpath = entry.get("uuid") or new_id(), key.get("subpath")
    sub: dict[str, Any] = {}
    if subpath is not None:
        id = f"{id}/{digest(subpath)}"
        sub = {"actions": {"stateDelta": {_SUB + subpath: True}}}
    return {
        "id": id,
        "author": "user" if _may_say(entry) else "claude",
        "branch": _branch(key),
        **_said(entry),
        "customMetadata": {"claude": Kept("entry", entry)},
        **sub,
    }


def _branch(key: SessionKey) -> str:
    if (subpath := key.get("subpath")) == _MAIN:
        raise InputError(f"No subpath is {_MAIN!r}, which is the main transcript here.")
    return subpath or _MAIN


def _may_say(entry: Any) -> bool:
    """Whether a user can have said this: a prompt. What tools answer is an entry of the user for the SDK alone."""
    message = entry.get("message")
    if entry.get("type") != "user" or "toolUseResult" in entry or not isinstance(message, Mapping):
        return False
    said = message.get("content")
    blocks = said if isinstance(said, list) else [] if isinstance(said, str) else [None]
    return message.get("role") == "user" and all(
        isinstance(block, Mapping) and block.get("type") in ("text", "image", "document") for block in blocks
    )


def _said(entry: Any) -> dict[str, Any]:
    """Returns what an entry says, for people and agents."""
    message = entry.get("message")
    if entry.get("type") not in ("user", "assistant") or not isinstance(message, Mapping):
        return {}
    said = message.get("content")
    blocks = [{"type": "text", "text": said}] if isinstance(said, str) else said if isinstance(said, list) else []
    parts = [part for block in blocks if isinstance(block, Mapping) for part in _parts(block)]
    return content("user" if entry["type"] == "user" else "model", parts)


def _parts(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    match block.get("type"):
        case "text":
            return text_part(str(block.get("text", "")))
        case "thinking":
            return [{**part, "thought": True} for part in text_part(str(block.get("thinking", "")))]
        case "tool_use":
            return [call_part(str(block.get("id")), str(block.get("name")), block.get("input"))]
        case "tool_result":
            return [response_part(str(block.get("tool_use_id")), None, block.get("content"))]
        case kind:
            # Bytes are in the entry.
            return text_part(f"[{kind}]")
