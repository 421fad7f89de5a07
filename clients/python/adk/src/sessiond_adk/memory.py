"""The memory service."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timezone
from types import TracebackType
from typing import Any
from urllib.parse import quote, unquote

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types
from pydantic_core import to_jsonable_python

from sessiond import AsyncSession, ConflictError, Hit, InputError, NotFoundError
from sessiond._frameworks import batches
from sessiond._paths import given, new_id

from ._connect import Connection
from ._errors import check_names, of_adk
from ._wire import StoredSession, event_from_wire, event_to_wire

# The session of a user that has what was said nowhere else.
_MEMORIES = "memories"

# The server gives no more.
_MOST = 100

# Characters of a query that are sent: the server looks for 32 words.
_QUERY = 2000


class SessiondMemoryService(BaseMemoryService):
    """What agents of ADK remember of a user: what was said in the sessions of that user, which are in sessiond.

    Nothing is copied, so all that is stored is remembered at once, also if nobody calls `add_session_to_memory`; and
    what is rewound, redacted, trimmed, expired, deleted or erased is not, from then on. The policy of the app has to
    say `{"search": {"index": true}}`, which is for an operator to set.

    A memory is an event, found by the words of its text: those with the most words of the query first, rare ones count
    more. Words are whole; case and accents do not count.

    An instance may be used by several event loops and threads; each loop has its own connections.
    """

    def __init__(
        self,
        url: str,
        *,
        limit: int = 10,
        token: str | Callable[[], str | Awaitable[str]] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 15.0,
        retry_for: float = 30.0,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        """Opens no connection yet.

        Args:
          url: Where sessiond is, see `SessiondSessionService`, as for the other arguments.
          limit: How many memories a search returns at most, up to 100.
          token: The credential.
          headers: Sent with every request.
          timeout: Seconds that one attempt of a request may take.
          retry_for: Seconds in which a request is tried again.
          ssl_context: For `https:`.

        Raises:
          ValueError: As `SessiondSessionService` raises it, or `limit` is not 1 to 100.
        """
        if not 1 <= limit <= _MOST:
            raise ValueError(f"`limit` is 1 to {_MOST}.")
        self._limit = limit
        self._db = Connection(
            url, token=token, headers=headers, timeout=timeout, retry_for=retry_for, ssl_context=ssl_context
        )

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str, except_session_id: str | None = None
    ) -> SearchMemoryResponse:
        """Returns what the user and agents have said that has a word of the query, the best first.

        What says just the query is left out: a runner has stored the user's question before it is looked for. Of a
        memory there is the text, without what a model thought. A query without a word finds nothing.

        Args:
          app_name: The app.
          user_id: The user.
          query: The words, in the first 2,000 characters.
          except_session_id: Leave out this session.

        Raises:
          ConflictError: The app has no index (`search_off`): an operator switches it on by
            `PUT /v1/apps/{app}/policy` with `{"search": {"index": true}}`.
          SessiondError: sessiond cannot be reached, or refuses the request.
        """
        check_names(app_name=app_name, user_id=user_id)
        asked = min(2 * self._limit, _MOST)
        try:
            found = await self._db.search(
                app_name, user_id, query[:_QUERY], limit=asked, except_session=except_session_id
            )
        except InputError as error:
            if any(fault.get("field") == "text" for fault in error.problem.get("errors", ())):
                return SearchMemoryResponse()
            raise
        said = [hit for hit in found.hits if hit.event.text.split() != query.split()]
        entries = [entry for hit in said if (entry := _entry(hit))]
        return SearchMemoryResponse(memories=entries[: self._limit])

    async def add_session_to_memory(self, session: Session) -> None:
        """Sees that what was said in a session is remembered: if it is in sessiond, it is already.

        Of a session of another session service, the events are appended to the session `memories` of the user, each
        once.

        Raises:
          SessionNotFoundError: The session was loaded from sessiond, and is not there any more.
        """
        if isinstance(session, StoredSession):
            with of_adk(session.id):
                await self._db.session(session.app_name, session.user_id, session.id).get(last=0)
            return
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, session_id=session.id, events=session.events
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Sees that events are remembered; those that are in the session are already.

        All others are appended to the session `memories` of the user, each once, with their content, author and time,
        and without a change of state. One that was deleted is not remembered again.

        Args:
          app_name: The app.
          user_id: The user.
          events: The events; those without content are left out.
          session_id: The session that they are of.
          custom_metadata: What their memories have as `custom_metadata`.
        """
        check_names(app_name=app_name, user_id=user_id)
        said = {event.id: event for event in events if event.content and event.content.parts}
        if said and session_id:
            try:
                async for stored in self._db.session(app_name, user_id, session_id).events(reverse=True):
                    said.pop(stored.id, None)
                    if not said:
                        return
            except NotFoundError:
                pass
        metadata = to_jsonable_python(dict(custom_metadata)) if custom_metadata else None
        kept = ("id", "author", "timestamp", "content")
        written = [
            {
                **{name: value for name, value in event_to_wire(event).items() if name in kept},
                **given(customMetadata=metadata),
            }
            for event in said.values()
        ]
        await self._append(app_name, user_id, written)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Appends memories to the session `memories` of the user.

        One that has an `id` is appended once.

        Args:
          app_name: The app.
          user_id: The user.
          memories: What is to be remembered: its text is found. The time is the server's if there is none.
          custom_metadata: What all of them have as `custom_metadata`, beside their own.

        Raises:
          SessiondInputError: A time is not of ISO 8601, or another value breaks a rule of sessiond.
        """
        check_names(app_name=app_name, user_id=user_id)
        written = []
        for entry in memories:
            metadata = to_jsonable_python({**(custom_metadata or {}), **entry.custom_metadata})
            written.append(
                given(
                    id=entry.id or new_id(),
                    author=entry.author,
                    timestamp=_seconds(entry.timestamp),
                    content=entry.content.model_dump(mode="json", by_alias=True, exclude_none=True),
                    customMetadata=metadata or None,
                )
            )
        await self._append(app_name, user_id, written)

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Redacts the event that a memory is, for good, in its session and in the forks that hold it.

        The state that the event has set stays. It takes the role `operator`. What is not there is no error.

        Args:
          app_name: The app.
          user_id: The user.
          memory_id: The `id` of an entry that a search has returned, or that `add_memory` was given.
        """
        check_names(app_name=app_name, user_id=user_id)
        if not memory_id:
            return
        session_id, slash, event_id = memory_id.partition("/")
        names = (unquote(session_id), unquote(event_id)) if slash else (_MEMORIES, memory_id)
        try:
            await self._db.session(app_name, user_id, names[0]).redact(names[1])
        except NotFoundError:
            pass

    async def close(self) -> None:
        """Closes the connections of the running event loop. The service can be used again."""
        await self._db.close()

    async def __aenter__(self) -> SessiondMemoryService:
        """Returns the service."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connections."""
        await self.close()

    async def _append(self, app_name: str, user_id: str, events: list[dict[str, Any]]) -> None:
        memories = self._db.session(app_name, user_id, _MEMORIES)
        for batch in batches(events, lambda event: event):
            if not batch:
                return
            try:
                await memories.append(batch, create=True, answer="minimal")
            except ConflictError as error:
                if error.code != "event_id_conflict":
                    raise
                await _one_by_one(memories, batch)


async def _one_by_one(memories: AsyncSession, events: list[dict[str, Any]]) -> None:
    """Appends events but for those that are there with another content, which stays."""
    for event in events:
        try:
            await memories.append(event, create=True, answer="minimal")
        except ConflictError as error:
            if error.code != "event_id_conflict":
                raise


def _seconds(timestamp: str | None) -> float | str | None:
    """Returns a time in Unix seconds; without an offset it is local, as ADK writes times. The server refuses others."""
    if timestamp is None:
        return None
    try:
        return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return timestamp


def _entry(hit: Hit) -> MemoryEntry | None:
    """Returns what ADK is shown of an event; None if ADK cannot read it."""
    event = event_from_wire(hit.event, hit.session_id)
    parts = [
        types.Part(text=part.text)
        for part in (event.content and event.content.parts) or ()
        if part.text and not part.thought
    ]
    if event.content is None or not parts:
        return None
    own = event.custom_metadata if hit.session_id == _MEMORIES else None
    return MemoryEntry(
        id=f"{quote(hit.session_id, safe='')}/{quote(event.id, safe='')}",
        content=types.Content(role=event.content.role, parts=parts),
        author=event.author or None,
        timestamp=datetime.fromtimestamp(event.timestamp, timezone.utc).isoformat(),
        custom_metadata={**(own or {}), "session_id": hit.session_id, "event_id": event.id},
    )
