"""The handle of a session."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, overload

from .. import _times
from .._conversation import Message, conversation
from .._errors import ConflictError, NotFoundError, SessiondError, StaleError
from .._events import Condition, EventFields, Op, event_of, is_one, keyed, named, split_limits
from .._json import dumps, loads
from .._paths import given, new_id, params, process_name, segment, text_of, trimmed, user_path
from .._records import Event, Snapshot, WatchItem, snapshot
from .._reply import Reply
from .._times import Limits
from . import io
from .artifacts import AsyncArtifacts
from .http import AsyncHttp
from .state import _ABSENT, AsyncState
from .watch import watch

if TYPE_CHECKING:
    from typing_extensions import Unpack

logger = logging.getLogger("sessiond")


class AsyncSession(AsyncState):
    """A session of a user of an app. The handle itself costs no request, and the session need not be there.

    What a call has written is on disk when it returns, and all later reads show it. If it raises, `outcome` of the
    error says whether something may have been written. After a lost answer nothing is done twice: ids are drawn before
    the first attempt.

    Calls raise `NotFoundError` if there is no such session, and what else they say. All take `timeout=` and
    `retry_for=`, in the place of what the client was made with.
    """

    def __init__(
        self, http: AsyncHttp, app: str, user: str, id: str | None = None, *, fence: Mapping[str, str] | None = None
    ) -> None:
        """Sends nothing. See `AsyncClient.session`; `fence` is what the writes of a turn carry."""
        self._sessions = user_path(app, user) + "/sessions"
        self.app = app
        self.user = user
        self.id = new_id() if id is None else trimmed(text_of(id, "id of the session"))
        self._fence = dict(fence or {})
        super().__init__(http, self._sessions + segment(self.id, "id of the session"))
        self.artifacts = AsyncArtifacts(http, f"{self._path}/artifacts", self._fence)
        """The files of the session, and of its user."""

    def __repr__(self) -> str:
        """Shows which session it is, and what this handle has seen of it."""
        return f"{type(self).__name__}({self.app!r}, {self.user!r}, {self.id!r}, revision={self.revision})"

    async def create(
        self,
        *,
        state: Mapping[str, Any] | None = None,
        events: Sequence[Mapping[str, Any]] = (),
        display_name: str | None = None,
        labels: Mapping[str, str] | None = None,
        ttl: float | None = None,
        exist_ok: bool = False,
        **limits: Unpack[Limits],
    ) -> Snapshot:
        """Creates the session, once.

        Args:
          state: What it begins with: keys with `app:` and `user:` go to app and user state, those with `temp:` nowhere.
          events: Its first events.
          display_name: A name for people.
          labels: What `AsyncClient.sessions` can filter by: names of `a-z0-9_.-`, up to 64.
          ttl: Seconds until it expires, that is, until there is no such session any more; by default it never does.
          exist_ok: If there is such a session, it is left as it is, and returned.
          **limits: See `Limits`.

        Raises:
          ConflictError: There is such a session, and `exist_ok` is False.
          InputError: An id or a value breaks a rule of sessiond.
        """
        body = given(
            state=state,
            events=[named(event) for event in ([events] if is_one(events) else events)] or None,
            displayName=display_name,
            labels=labels,
            ttl=ttl,
        )
        if exist_ok:
            reply = await self._http.send("PUT", self._path, body=body, **limits)
        else:
            # By the key sessiond knows what an attempt before has made.
            body, headers = {"sessionId": self.id, **body}, {"Idempotency-Key": new_id()}
            reply = await self._http.send("POST", self._sessions, body=body, headers=headers, **limits)
        return self._shown(reply)

    async def get(
        self,
        *,
        last: int | None = None,
        since: float | None = None,
        effective: bool = False,
        **limits: Unpack[Limits],
    ) -> Snapshot:
        """Returns the session with its merged state and its events, as of one moment.

        Args:
          last: Only the last so many events; 0 for none.
          since: Of these only the ones not before this time, in Unix seconds.
          effective: Only those that an agent would read: without what was rewound, and what compactions cover.
          **limits: See `Limits`.
        """
        query = params(numRecentEvents=last, afterTimestamp=since, history="effective" if effective else None)
        return self._shown(await self._http.send("GET", self._path, params=query, **limits))

    @overload
    async def append(
        self,
        *,
        create: bool = False,
        if_revision: int | None = None,
        answer: Literal["full", "minimal"] = "full",
        **fields: Unpack[EventFields],
    ) -> Event: ...
    @overload
    async def append(
        self,
        event: Mapping[str, Any],
        *,
        create: bool = False,
        if_revision: int | None = None,
        answer: Literal["full", "minimal"] = "full",
        **limits: Unpack[Limits],
    ) -> Event: ...
    @overload
    async def append(
        self,
        event: Sequence[Mapping[str, Any]],
        *,
        create: bool = False,
        if_revision: int | None = None,
        answer: Literal["full", "minimal"] = "full",
        **limits: Unpack[Limits],
    ) -> list[Event]: ...
    async def append(
        self,
        event: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        *,
        create: bool = False,
        if_revision: int | None = None,
        answer: Literal["full", "minimal"] = "full",
        **fields: Any,
    ) -> Event | list[Event]:
        """Appends an event, or several, all or none; with their changes of state.

        An event that the session has already, by its id, is not appended again: it is returned as it was stored.

        Args:
          event: An event, or a list of up to 1,000, as JSON has them (`invocationId`, `actions`, ...). Else its fields
            are given by name, see `EventFields`.
          create: If there is no such session, it is made.
          if_revision: Only if this is the present revision; as a rule `if_revision=handle.revision`.
          answer: `"minimal"` returns of each event only `id`, `sequence`, `timestamp` and `commitTime`.
          **fields: See `EventFields` and `Limits`.

        Returns:
          The event as it is stored, with its `sequence`; or the events.

        Raises:
          StaleError: The session has another revision, a precondition does not hold, or the turn was superseded.
          ConflictError: The session has another event of that id.
          BusyError: A turn excludes all other writers.
          InputError: It breaks a rule of sessiond, such as its limit of size.
        """
        fields, limits = split_limits(fields)
        body: Any
        if event is None:
            body = named(event_of(fields))  # type: ignore[arg-type]
        elif fields:
            raise TypeError(f"An event is given whole or by its fields: there are both, it and {min(fields)}.")
        elif is_one(event):
            body = named(event)
        else:
            body = [named(each) for each in event]
        query = params(create=create or None, answer=None if answer == "full" else answer)
        reply = await self._write("POST", "/events", body, query, if_revision=if_revision, limits=limits)
        stored = reply.success(list if isinstance(body, list) else dict)
        events = [Event(each) for each in (stored if isinstance(body, list) else [stored])]
        for each in events:
            each.replayed = reply.replayed
            if each.get("sequence") == self.revision + 1:
                self.revision += 1
        return events if isinstance(body, list) else events[0]

    async def apply(
        self,
        ops: Sequence[Op],
        *,
        when: Sequence[Condition] = (),
        once: str | None = None,
        if_revision: int | None = None,
        author: str = "user",
        invocation_id: str | None = None,
        **limits: Unpack[Limits],
    ) -> dict[str, Any]:
        """Applies operators in order, all or none, through one event.

        Args:
          ops: What to do: `{"op", "key", "value"}`.
          when: What must hold right before.
          once: An id for this change, the same in every run of the program. The session makes a change of an id once:
            it is the id of the event. Made again, it changes nothing, and the values are those that it had then.
          if_revision: Only if this is the present revision.
          author: The author of the event.
          invocation_id: The turn that it is part of.
          **limits: See `Limits`.

        Returns:
          The values of the keys after it; a removed key is absent.

        Raises:
          StaleError: A precondition does not hold, or the turn was superseded.
          ConflictError: The session has another event, or another change, of the id `once`.
          BusyError: A turn excludes all other writers.
          InputError: An operator is unknown, or does not fit the value that is there.
        """
        actions = {"stateOps": keyed(ops), **({"preconditions": list(when)} if when else {})}
        event = given(id=once, author=author, invocationId=invocation_id, actions=actions)
        # What comes of the others, the server alone knows.
        is_known = all(op.get("op") in ("set", "remove") for op in ops)
        answer: Literal["full", "minimal"] = "minimal" if is_known else "full"
        made = await self._apply(event, if_revision=if_revision, answer=answer, limits=limits)
        if not is_known:
            return dict(made.delta)
        values = {op["key"]: op for op in ops}
        return {key: op["value"] for key, op in values.items() if op["op"] == "set"}

    async def _apply(
        self,
        event: dict[str, Any],
        *,
        if_revision: int | None,
        answer: Literal["full", "minimal"] = "full",
        limits: Limits,
    ) -> Event:
        """Appends the event of a change; one of the same id that makes the same change, whoever made it, will do."""
        try:
            return await self.append(event, if_revision=if_revision, answer=answer, **limits)
        except ConflictError as error:
            if error.code != "event_id_conflict" or "id" not in event:
                raise
            made = await self.event(event["id"], **limits)
            wanted = loads(dumps(event["actions"]))
            if any(made.actions.get(name) != wanted.get(name) for name in ("stateOps", "preconditions")):
                raise
            made.replayed = True
            return made

    @overload
    async def state(
        self,
        *,
        at: int | None = None,
        prefix: str | None = None,
        keys: Sequence[str] | None = None,
        scope: Literal["app", "user", "session"] | None = None,
        **limits: Unpack[Limits],
    ) -> dict[str, Any]: ...
    @overload
    async def state(self, key: str, default: Any = ..., **limits: Unpack[Limits]) -> Any: ...
    async def state(
        self,
        key: str | None = None,
        default: Any = _ABSENT,
        *,
        at: int | None = None,
        prefix: str | None = None,
        keys: Sequence[str] | None = None,
        scope: Literal["app", "user", "session"] | None = None,
        **limits: Unpack[Limits],
    ) -> Any:
        """Returns the merged state, or the value of a key: `app:` and `user:` keys are those of the app and the user.

        Args:
          key: The key whose value is returned.
          default: What is returned if there is no such key, in the place of a `NotFoundError`.
          at: As it was after so many events; 0 for the moment of its creation.
          prefix: Only the keys that begin so.
          keys: Only these keys, of which none has a comma.
          scope: Only the state of this scope.
          **limits: See `Limits`.

        Raises:
          GoneError: What was there at that time was trimmed.
        """
        listed = None if keys is None else ",".join(text_of(each, "key") for each in keys)
        query = params(atRevision=at, prefix=prefix, keys=listed, scope=scope)
        if key is not None and query:
            raise TypeError("The value of a key is that of now, and of one key.")
        return await self._get_state(key, default, query, limits)

    async def event(self, id: str, **limits: Unpack[Limits]) -> Event:
        """Returns an event. Raises `NotFoundError` if there is none of that id."""
        reply = await self._http.send("GET", f"{self._path}/events{segment(id, 'id of the event')}", **limits)
        return Event(reply.success())

    async def events(
        self,
        *,
        last: int | None = None,
        after: int | None = None,
        before: int | None = None,
        since: float | None = None,
        author: str | None = None,
        invocation_id: str | None = None,
        branch: str | None = None,
        text: str | None = None,
        effective: bool = False,
        rewound: bool = True,
        reverse: bool = False,
        page_size: int | None = None,
        **limits: Unpack[Limits],
    ) -> AsyncIterator[Event]:
        """Yields events in the order of the log, page by page; `revision` is that of the first page.

        Args:
          last: Only the last so many of them.
          after: Only events behind this number.
          before: Only events before this number.
          since: Only events not before this time, in Unix seconds.
          author: Only events of this author.
          invocation_id: Only events of this turn.
          branch: Only events of this branch.
          text: Only events with all of these words in what was said, called or answered.
          effective: Only those that an agent would read: without what was rewound, and what compactions cover.
          rewound: False leaves out what was rewound, and the rewinds.
          reverse: Begin with the latest.
          page_size: How many are asked for at a time, up to 1,000.
          **limits: See `Limits`, of each page.
        """
        if last == 0:
            return
        backwards = reverse or last is not None
        query = params(
            order="desc" if backwards else None,
            pageSize=page_size or (last and min(last, 1000)),
            afterSequence=after,
            beforeSequence=before,
            afterTimestamp=since,
            author=author,
            invocationId=invocation_id,
            branch=branch,
            text=text,
            history="effective" if effective else None,
            excludeRewound=None if rewound else "true",
        )
        held: list[Event] = []
        count = 0
        async for page in self._pages(query, limits):
            for each in page:
                count += 1
                event = Event(each)
                if backwards and not reverse:
                    held.append(event)
                else:
                    yield event
                if count == last:
                    break
            if count == last:
                break
        for event in reversed(held):
            yield event

    async def conversation(self, *, after: int | None = None, **limits: Unpack[Limits]) -> list[Message]:
        """Returns what people and models said and did, without a framework, whatever has written it.

        That is of the effective history, without what was rewound, and with summaries in the place of what they cover.
        See `sessiond.conversation`, which makes it of events.

        Args:
          after: Only what events behind this number say: a result of an earlier call is told as text.
          **limits: See `Limits`, of each page.
        """
        return conversation([each async for each in self.events(after=after, effective=True, page_size=1000, **limits)])

    async def _pages(self, query: Mapping[str, str], limits: Limits) -> AsyncIterator[list[dict[str, Any]]]:
        """Yields events page by page, as JSON has them; `revision` is that of the first page."""
        first = True
        async for page in self._http.pages(f"{self._path}/events", query, limits):
            if first:
                self.revision, first = page.body["revision"], False
            yield page.body["events"]

    def watch(self, *, after: str | int | None = None, include_state: bool = False) -> AsyncGenerator[WatchItem, None]:
        """Follows the session: yields what is there, and then each event as it is committed, by whichever process.

        Each event comes once and in order, also if the connection breaks: then the watch comes back by itself and goes
        on behind the last one, for as long as it is iterated. It pauses in between as the server asks, else for up to
        1 s, doubled for each further attempt up to 30 s, at random. Only `CaughtUp`, `MetadataChange` and a whole
        `StateChange` come again after that. To go on in another process, store `item.cursor` when the item has had its
        effect, and give it as `after`.

        A watch ends after `Deleted`, or when the caller stops to iterate; `contextlib.aclosing` closes its connection
        at once then. Each has a connection of its own. A slow reader loses nothing.

        Args:
          after: Begin behind this place: a `cursor`, the number of an event, or `"now"` for what is still to come. By
            default the whole log is yielded.
          include_state: Yield the state, too; see `StateChange`.

        Raises:
          GoneError: `after` is not in the log (any more).
          AccessError: The credential was refused; one from a function was asked for again before.
          InputError: An argument breaks a rule of sessiond.
        """
        return watch(self._http, f"{self._path}/watch", after=after, include_state=include_state)

    @asynccontextmanager
    async def lease(
        self,
        *,
        owner: str | None = None,
        ttl: float = 60.0,
        wait: float = 300.0,
        invocation_id: str | None = None,
        exclusive: Literal["turn", "all"] = "turn",
        steal: bool = False,
        **limits: Unpack[Limits],
    ) -> AsyncIterator[AsyncTurn]:
        """Takes turns with other writers of the session, in all processes: the block runs when it is this one's turn.

            async with session.lease() as turn:
                await turn.append(author="model", content=text("model", "Coming up."))

        The lease is renewed while the block runs, and released at its end. Only writes through `turn` are of the turn:
        if another one has superseded it, they raise `StaleError`, and nothing is written.

        Args:
          owner: What names the holder to others; by default this process. No secret.
          ttl: Seconds, 1 to 900, after which a holder that died is superseded.
          wait: Seconds to wait for the turn of others.
          invocation_id: What names the turn; one is drawn by default. The same of the same owner is the same turn.
          exclusive: `"all"` refuses writers without a turn, too.
          steal: Take it from whoever has it.
          **limits: See `Limits`.

        Raises:
          BusyError: Another turn has the session, also after the wait.
        """
        turn = await self.acquire(
            owner=owner,
            ttl=ttl,
            wait=wait,
            invocation_id=invocation_id,
            exclusive=exclusive,
            steal=steal,
            **limits,
        )
        try:
            async with io.repeating(turn._kept, ttl / 3):
                yield turn
        finally:
            self.revision = turn.revision
            try:
                await turn.release()
            except SessiondError as error:
                logger.warning("The lease of a turn was not released, and will expire: %s", error)

    async def acquire(
        self,
        *,
        owner: str | None = None,
        ttl: float = 60.0,
        wait: float = 300.0,
        invocation_id: str | None = None,
        exclusive: Literal["turn", "all"] = "turn",
        steal: bool = False,
        **limits: Unpack[Limits],
    ) -> AsyncTurn:
        """Takes the lease as `lease` does, and leaves it to the caller to renew and to release it."""
        asked: dict[str, Any] = {
            "owner": process_name() if owner is None else text_of(owner, "owner of a lease"),
            "invocationId": new_id() if invocation_id is None else text_of(invocation_id, "id of a turn"),
            "ttl": ttl,
        }
        if exclusive != "turn":
            asked["exclusive"] = exclusive
        if steal:
            asked["steal"] = True
        deadline = time.monotonic() + wait
        hold = 0
        while True:
            query = params(wait=hold or None)
            reply = await self._http.send(
                "POST", f"{self._path}/lease", body=asked, params=query, patience=hold, **limits
            )
            if reply.code != "lease_held":
                return AsyncTurn(self, self._http, reply.success(), ttl)
            left = deadline - time.monotonic()
            if left <= 0:
                raise reply.error
            if hold:
                await io.sleep(min(left, random.uniform(*_times.EARLY)))
            hold = max(1, min(_times.ONE_WAIT, int(left)))

    async def set_metadata(
        self,
        *,
        display_name: str | EllipsisType | None = ...,
        labels: Mapping[str, str] | EllipsisType | None = ...,
        ttl: float | EllipsisType | None = ...,
        **limits: Unpack[Limits],
    ) -> Snapshot:
        """Changes metadata; it appends no event. What is not given stays, None clears it.

        `labels` take the place of all that there were, `ttl` (seconds) counts from now.
        """
        wanted = {"displayName": display_name, "labels": labels, "ttl": ttl}
        body = {name: value for name, value in wanted.items() if value is not ...}
        return self._shown(await self._write("PATCH", "", body, limits=limits))

    async def fork(self, *, at: int | None = None, id: str | None = None, **limits: Unpack[Limits]) -> AsyncSession:
        """Makes a session of the same user that begins with the events of this one, once; returns its handle.

        The events are the same, with their ids and times, and so is the session's own state after them. App and user
        state are shared by both. Display name, labels and expiry are copied. The source stays as it is.

        Args:
          at: With how many of its events the fork begins; with all by default.
          id: The id of the fork; one is drawn by default.
          **limits: See `Limits`.

        Raises:
          ConflictError: There is a session of that id.
          GoneError: What is to be copied was trimmed.
        """
        copy, _ = await self._fork(at=at, id=id, limits=limits)
        return copy

    async def _fork(self, *, at: int | None, id: str | None, limits: Limits) -> tuple[AsyncSession, Snapshot]:
        copy = AsyncSession(self._http, self.app, self.user, id)
        body, headers = given(atRevision=at, sessionId=copy.id), {"Idempotency-Key": new_id()}
        reply = await self._http.send("POST", f"{self._path}/fork", body=body, headers=headers, **limits)
        return copy, copy._shown(reply)

    async def rewind(
        self,
        *,
        before_invocation: str | None = None,
        to_revision: int | None = None,
        if_revision: int | None = None,
        **limits: Unpack[Limits],
    ) -> Snapshot:
        """Takes the session back, through one event that is appended, once.

        The session's own state becomes what it was then. App and user state stay, and so do the events; agents do not
        read those that were taken back.

        Args:
          before_invocation: To before the first event of this turn.
          to_revision: Or to right after the event of this number; 0 for before all.
          if_revision: Only if this is the present revision.
          **limits: See `Limits`.

        Raises:
          NotFoundError: There is no event of that turn.
          StaleError: As `append` raises it.
          GoneError: What is to be taken back to was trimmed.
        """
        turn = None if before_invocation is None else text_of(before_invocation, "id of a turn")
        body = given(beforeInvocationId=turn, toRevision=to_revision)
        return self._shown(
            await self._write("POST", "/rewind", body, if_revision=if_revision, key=new_id(), limits=limits)
        )

    async def redact(
        self,
        event_id: str,
        *,
        reason: str | None = None,
        state: Literal["keep", "remove"] = "keep",
        **limits: Unpack[Limits],
    ) -> Event:
        """Removes what an event says from the session and from the forks that hold it, for good.

        The event stays in its place, with its author, its times and, with `"keep"`, its changes of state. It takes the
        role `operator`.

        Args:
          event_id: The event.
          reason: Why, up to 256 bytes: every reader of the event sees it.
          state: `"remove"` takes the values that the event set, too: from past states, and from the present one where
            nobody has set the key since.
          **limits: See `Limits`.

        Returns:
          The event as it is now; also `forks`, how many forks hold it.
        """
        body = given(reason=reason, state=state)
        return Event(
            (
                await self._write("POST", f"/events{segment(event_id, 'id of the event')}/redact", body, limits=limits)
            ).success()
        )

    async def trim(
        self,
        *,
        before: int | None = None,
        keep_last: int | None = None,
        before_time: float | None = None,
        **limits: Unpack[Limits],
    ) -> int:
        """Removes the first events for good: one of the three says which. State stays. It takes the role `operator`.

        Returns:
          How many of its first events are gone.
        """
        body = given(beforeSequence=before, keepLast=keep_last, beforeTime=before_time)
        gone: int = (await self._write("POST", "/trim", body, limits=limits)).success()["baseRevision"]
        return gone

    async def render(
        self,
        template: str,
        *,
        braces: Literal["adk", "literal"] = "adk",
        missing: Literal["error", "empty", "keep"] = "error",
        **limits: Unpack[Limits],
    ) -> str:
        """Fills in an instruction template from the merged state, as ADK does it for agents.

        `{key}`, `{app:key}` and `{user:key}` become the value, texts as they are, None as nothing, all else as compact
        JSON; `{key?}` becomes nothing if there is no such key. What else is in braces stays.

        Args:
          template: The template.
          braces: What `{{key}}` is: `"adk"` the value, `"literal"` the text `{key}`.
          missing: What becomes of a key that is not there: `"error"` raises, `"empty"` is nothing, `"keep"` leaves it.
          **limits: See `Limits`.

        Raises:
          InputError: Keys are missing, which it names.
        """
        body = {"template": template, "braces": braces, "missing": missing}
        said: str = (await self._http.send("POST", f"{self._path}/render", body=body, **limits)).success()["text"]
        return said

    async def delete(self, **limits: Unpack[Limits]) -> None:
        """Deletes the session with its events, its own state and its files, if there is one.

        App and user state stay.
        """
        (await self._write("DELETE", "", limits=limits)).success()
        self.revision = 0

    async def _write(
        self,
        method: str,
        suffix: str,
        body: Any = None,
        query: Mapping[str, str] | None = None,
        *,
        if_revision: int | None = None,
        key: str | None = None,
        limits: Limits,
    ) -> Reply:
        """Sends a write that a turn fences."""
        headers = dict(self._fence)
        if if_revision is not None:
            headers["If-Match"] = f'"{if_revision}"'
        if key is not None:
            headers["Idempotency-Key"] = key
        path = self._path + suffix
        return await self._http.send(method, path, body=body, params=query, headers=headers, **limits)

    def _shown(self, reply: Reply) -> Snapshot:
        shown = snapshot(reply.success(), reply.headers.get("ETag", ""))
        self.revision = shown.revision
        return shown


class AsyncTurn(AsyncSession):
    """A session while it is this one's turn to write: see `AsyncSession.lease`."""

    def __init__(self, session: AsyncSession, http: AsyncHttp, granted: dict[str, Any], ttl: float) -> None:
        """Takes what the server granted."""
        mark = f"{granted['epoch']}-{granted['incarnation']}"
        super().__init__(http, session.app, session.user, session.id, fence={"Sessiond-Lease": mark})
        self.revision = session.revision
        self.began: int = granted["revision"]
        """The revision of the session when the turn began: what is beyond `revision`, others have written."""
        self.expire_time: float = granted["expireTime"]
        """When others may take over, in Unix seconds, if nothing is written or renewed until then."""
        self._lease = {"epoch": granted["epoch"], "incarnation": granted["incarnation"]}
        self._ttl = ttl

    async def renew(self, **limits: Unpack[Limits]) -> None:
        """Holds the lease for its full time from now on. Raises `StaleError` if the turn was superseded."""
        body = {**self._lease, "ttl": self._ttl}
        reply = await self._http.send("PUT", f"{self._path}/lease", body=body, **limits)
        self.expire_time = reply.success()["expireTime"]

    async def release(self, **limits: Unpack[Limits]) -> None:
        """Lets the next one have its turn; without effect if the turn was superseded."""
        reply = await self._http.send("DELETE", f"{self._path}/lease", params=params(**self._lease), **limits)
        if reply.code != "session_not_found":
            reply.success()

    async def _kept(self) -> bool:
        """Renews the lease; returns whether there is still one to be renewed."""
        try:
            # Once: the next time comes before the lease expires.
            await self.renew(retry_for=0)
        except (StaleError, NotFoundError):
            # The next write says so.
            return False
        except SessiondError as error:
            logger.warning("The lease of a turn was not renewed: %s", error)
        return True
