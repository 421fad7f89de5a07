"""Conversations of Pydantic AI, kept by sessiond. It takes the extra `pydantic-ai`.

    from sessiond.pydantic_ai import SessiondStore

    store = SessiondStore(app="cafe", user="ada")
    conversation = await store.load("s1") or Conversation(conversation_id="s1")
    await store.save(await agent.run("Hi", conversation=conversation))

Each message is an event: it is kept as it is, and beside it what was said, for the console and for agents of other
frameworks. The record of the conversation is state of the session.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from . import _frameworks
from ._async import kept
from ._errors import ConflictError, NotFoundError, StaleError
from ._events import absent, equals
from ._frameworks import Kept, call_part, content, parsed, response_part, seen_through, text_part
from ._others import Others
from ._paths import new_id, params, whole_id

try:
    from pydantic import ConfigDict, TypeAdapter
    from pydantic_ai.conversation import Conversation
    from pydantic_ai.conversation_store import (
        ConversationConflict,
        ConversationEntry,
        ConversationRecord,
        ConversationStore,
    )
    from pydantic_core import PydanticSerializationError

    from ._pydantic_others import WithOthers, entries_of, without_others
except ImportError as error:
    raise _frameworks.missing("pydantic-ai", error) from error

if TYPE_CHECKING:
    from ._async.client import AsyncClient
    from ._async.session import AsyncSession

T = TypeVar("T")

# State of a session: the record, and its revision by itself, for preconditions. And files: what is too large for
# an event.
_FILES = "pydantic/"
_RECORD, _REVISION = "pydantic/record", "pydantic/revision"

# Lists, since a dataclass takes no configuration. Bytes in base64, as Pydantic AI writes messages.
_CONFIG = ConfigDict(defer_build=True, ser_json_bytes="base64", val_json_bytes="base64", ser_json_inf_nan="constants")
_RECORDS: TypeAdapter[list[ConversationRecord]] = TypeAdapter(list[ConversationRecord], config=_CONFIG)
_ENTRIES: TypeAdapter[list[ConversationEntry]] = TypeAdapter(list[ConversationEntry], config=_CONFIG)

# Entries of which it is remembered in which conversation they are.
_REMEMBERED = 10_000


class SessiondStore(ConversationStore):
    """A store of Pydantic AI. A conversation is a session, of one user.

    What a method has written is on disk when it returns, once and whole, or not at all, whatever answers get lost. Who
    saves what another one has saved meanwhile gets `ConversationConflict`. Other errors are those of `sessiond`.
    """

    def __init__(
        self,
        *,
        app: str,
        user: str,
        client: AsyncClient | None = None,
        author: str = "assistant",
        others: Others = False,
    ) -> None:
        """Sends nothing.

        Args:
          app: The app that the conversations are in.
          user: Whose they are. A `scope` is kept, and is no user.
          client: By default one that all share, of SESSIOND_URL and SESSIOND_TOKEN. Its role is `agent` or above.
          author: Who says what the model says. An ADK agent of this name takes it for its own words.
          others: Whether `load` also has what agents of other frameworks and their users have said in the session, in
            its place. Or a function that says whether the agent has a tool of this name: calls of others are text.
        """
        self._client = _frameworks.asynchronous(client)
        self._app, self._user, self._author = app, user, _frameworks.agent(author)
        self._others = others
        # A call of the interface that reads an entry names no conversation.
        self._places: OrderedDict[str, str] = OrderedDict()

    async def load(
        self, conversation_id: str, *, limit: int | None = None, scope: str | None = None
    ) -> Conversation | None:
        """Returns a conversation; None if there is none, or it has another scope.

        With `others`, a session in which only others have spoken is one that is not saved yet. What they said is not
        stored again when the conversation is saved.
        """
        while True:
            record = await self.read_record(conversation_id) if self._others else None
            if not self._others or (record is not None and scope not in (None, record.scope)):
                return await super().load(conversation_id, limit=limit, scope=scope)
            handle = self._handle(conversation_id)
            try:
                events = [event async for event in handle.events(effective=True, page_size=1000)]
            except NotFoundError:
                return None
            others = entries_of(events, self._author, self._others)
            if record is None:
                messages = [entry.message for _, entry in others]
                kept = messages if limit is None else messages[-limit:] if limit > 0 else []
                return Conversation(messages=kept, conversation_id=conversation_id) if kept else None
            try:
                return await WithOthers(record, self._history, others).load(conversation_id, limit=limit)
            except LookupError:
                # Unless somebody has saved or deleted it meanwhile, an entry is gone.
                current = await self.read_record(conversation_id)
                if current is not None and current.revision == record.revision:
                    raise

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Returns the record of a conversation; None if there is none."""
        handle = self._handle(conversation_id)
        record = await _record(handle, await kept.written(handle, _RECORD))
        if record is not None:
            self._learn(conversation_id, record.head_id, *record.branches)
        return record

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """Returns the records of all conversations, or of a scope, the last saved first. It reads all of the user.

        They are as the state has them: `read_record` returns what was saved, whatever users have made of it since.
        """
        records = []
        async for session in self._client.sessions(self._app, self._user, include_state=True, page_size=1000):
            record = await _record(self._handle(session.id), session.state.get(_RECORD))
            if record is not None and scope in (None, record.scope):
                records.append(record)
        records.sort(key=lambda record: record.updated_at, reverse=True)
        return records[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Stores a record and its new entries, in one transaction, of up to 1,000 events: see `_events`.

        A fork is one of the session: until its record is stored, which is another transaction, it is no conversation.

        Raises:
          ConversationConflict: The record in the store has another revision, or lacks the entry that this one is of.
        """
        record, new_entries = without_others(record, new_entries)
        await seen_through(self._write(record, new_entries, expected_revision))
        self._learn(record.conversation_id, record.head_id, *(entry.id for entry in new_entries))

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Deletes the conversation with all of its entries; forks have their own. Raises `ConversationConflict`."""
        handle = self._handle(conversation_id)
        while True:
            record, _, at = await self._read_at(conversation_id)
            if record is None or record.revision != expected_revision:
                raise ConversationConflict(conversation_id)
            try:
                await seen_through(self._client.request("DELETE", handle._path, headers={"If-Match": f'"{at}"'}))
            except StaleError:
                # Somebody has written to it; or an answer got lost, and it is gone.
                if (await self._read_at(conversation_id))[2] == 0:
                    return
                continue
            except NotFoundError:
                pass
            return

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Returns an entry of a conversation that this object has read or written before, else raises LookupError."""
        return (await self.read_history(entry_id, limit=1))[0]

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """Returns the entries up to this one, or the last `limit` of them; it reads the log from its end."""
        return [entry for _, entry in await self._history(head_id, limit)]

    async def _history(self, head_id: str | None, limit: int | None) -> list[tuple[int, ConversationEntry]]:
        """Returns them, with the numbers of their events."""
        if head_id is None or limit == 0:
            return []
        if head_id not in self._places:
            raise LookupError(f"It is not known in which conversation the entry {head_id} is.")
        wanted: str | None = head_id
        place = self._places[head_id]
        handle = self._handle(place)
        # Behind the last one may be the event of the record.
        query = params(order="desc", pageSize=1000 if limit is None else min(limit + 1, 1000))
        at: list[int] = []
        written: list[Any] = []
        try:
            async for page in handle._pages(query, {}):
                for event in page:
                    if event["id"] != wanted:
                        continue
                    found = await kept.said(handle, event, "pydantic", "entry", _may_say)
                    if found is not None:
                        at.append(event["sequence"])
                        written.append(found)
                        wanted = found.get("parent_id")
                        if wanted is None or len(at) == limit:
                            entries = _read_all(_ENTRIES, written)
                            self._learn(place, *(entry.id for entry in entries))
                            return list(zip(at, entries, strict=True))[::-1]
        except NotFoundError:
            pass
        raise LookupError(f"There is no entry {wanted}: it was deleted, trimmed or redacted.")

    async def _read_at(self, conversation_id: str) -> tuple[ConversationRecord | None, Any, int]:
        """Returns the record, the revision of a record, be it that of the source of a fork, and that of the session."""
        handle = self._handle(conversation_id)
        try:
            state = await handle.state(keys=[_RECORD, _REVISION])
        except NotFoundError:
            return None, None, 0
        return await _record(handle, state.get(_RECORD)), state.get(_REVISION), handle.revision

    async def _write(
        self, record: ConversationRecord, new_entries: Sequence[ConversationEntry], expected: str | None
    ) -> None:
        id = record.conversation_id
        before: Any = expected
        if expected is None and record.head_id is not None and not new_entries:
            before = await self._fork(record)
        group = f"pydantic-{new_id()}"
        events = [event for entry in new_entries for event in self._events(entry, group)]
        delta = {_RECORD: Kept("record", _written(_RECORDS, record)), _REVISION: record.revision}
        when = [absent(_REVISION) if before is None else equals(_REVISION, before)]
        actions = {"stateDelta": delta, "preconditions": when}
        if not events or events[-1]["author"] == "user":
            # The record is not a user's.
            events.append({"id": new_id(), "author": self._author, "invocationId": group})
        events[-1]["actions"] = actions
        try:
            handle = self._handle(id)
            await handle.append(await kept.stored(handle, events, _FILES), create=True, answer="minimal")
        except (StaleError, ConflictError) as error:
            if isinstance(error, ConflictError) and error.code != "event_id_conflict":
                raise
            raise ConversationConflict(id) from error

    async def _fork(self, record: ConversationRecord) -> Any:
        """Makes the session of a fork, with the entries; returns the revision of the record in it."""
        id, head = record.conversation_id, record.head_id
        if record.forked_from is None or head is None:
            raise ConversationConflict(id)
        source = self._handle(record.forked_from)
        try:
            await source.fork(at=(await source.event(head)).sequence, id=id)
        except NotFoundError as error:
            raise ConversationConflict(id) from error
        except ConflictError as error:
            # Unless it is a fork whose record was not stored.
            if error.code != "session_already_exists" or (await self._read_at(id))[0] is not None:
                raise ConversationConflict(id) from error
        return (await self._read_at(id))[1]

    def _handle(self, conversation_id: str) -> AsyncSession:
        return self._client.session(self._app, self._user, whole_id(conversation_id))

    def _learn(self, conversation_id: str, *entries: str | None) -> None:
        for entry in entries:
            if entry is not None:
                self._places[entry] = conversation_id
                self._places.move_to_end(entry)
        while len(self._places) > _REMEMBERED:
            self._places.popitem(last=False)

    def _events(self, entry: ConversationEntry, group: str) -> list[dict[str, Any]]:
        """Returns the event of an entry; of a prompt with instructions, what the user says is one before it."""
        written = _written(_ENTRIES, entry)
        message = written["message"]
        role = "model" if message["kind"] == "response" else "user"
        said = [(part, _parts(part)) for part in message["parts"]]
        prompt = content(
            role, [each for part, parts in said if part.get("part_kind") == "user-prompt" for each in parts]
        )
        others = content(
            role, [each for part, parts in said if part.get("part_kind") != "user-prompt" for each in parts]
        )
        event = {"id": entry.id, "invocationId": group, "customMetadata": {"pydantic": Kept("entry", written)}}
        if _may_say(written):
            return [{**event, "author": "user", **prompt}]
        asked = [{"id": new_id(), "invocationId": group, "author": "user", **prompt}] if prompt else []
        return [*asked, {**event, "author": self._author, **others}]


def _may_say(entry: Any) -> bool:
    """Whether a user can have said this: prompts alone. What is loaded with the rights of the agent is the agent's."""
    message = entry["message"]
    is_plain = message["kind"] == "request" and not message.get("instructions") and bool(message["parts"])
    return is_plain and all(
        part["part_kind"] == "user-prompt" and (isinstance(part["content"], str) or all(map(_is_said, part["content"])))
        for part in message["parts"]
    )


def _is_said(part: Any) -> bool:
    return isinstance(part, str) or (part["kind"] != "uploaded-file" and not part.get("force_download"))


def _written(adapter: TypeAdapter[list[Any]], value: Any) -> Any:
    """Returns an object as JSON, and what JSON does not have: half of a character, and numbers that are none."""
    try:
        return json.loads(adapter.dump_json([value]))[0]
    except PydanticSerializationError:
        return adapter.dump_python([value], mode="json")[0]


def _read(adapter: TypeAdapter[list[T]], value: Any) -> T:
    return _read_all(adapter, [value])[0]


def _read_all(adapter: TypeAdapter[list[T]], values: list[Any]) -> list[T]:
    text = json.dumps(values, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return adapter.validate_python(values) if len(values) == 1 else [_read(adapter, each) for each in values]
    return adapter.validate_json(text)


async def _record(handle: AsyncSession, found: Any) -> ConversationRecord | None:
    """Returns the record in a state; None if there is none, or it is that of the source of a fork."""
    if not _frameworks.is_kept(found, "record"):
        return None
    record = _read(_RECORDS, await kept.value(handle, "record", found))
    return record if record.conversation_id == handle.id else None


def _parts(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns what a part of a message says, for people and agents. What systems prompt is of no other agent's."""
    said = part.get("content")
    match part.get("part_kind"):
        case "text":
            return text_part(str(said))
        case "user-prompt":
            texts = [said] if isinstance(said, str) else said or []
            shown = (each if isinstance(each, str) else each.get("content") for each in texts)
            return [
                part
                for each, text in zip(texts, shown, strict=True)
                for part in text_part(text if isinstance(text, str) else f"[{each.get('kind')}]")
            ]
        case "thinking":
            return [{**each, "thought": True} for each in text_part(str(said))]
        case "tool-call":
            args = part.get("args")
            args = parsed(args) if isinstance(args, str) else args
            return [call_part(part.get("tool_call_id"), part.get("tool_name"), args)]
        case "tool-return":
            return [response_part(part.get("tool_call_id"), part.get("tool_name"), said)]
        case "retry-prompt" if part.get("tool_name"):
            return [response_part(part.get("tool_call_id"), part.get("tool_name"), {"error": said})]
    return []
