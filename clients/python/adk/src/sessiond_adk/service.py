"""The session service."""

from __future__ import annotations

import asyncio
import ssl
import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from types import EllipsisType, TracebackType
from typing import Any, Literal

from google.adk.errors import StaleSessionError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.session import Session

import sessiond
from sessiond import AsyncSession, Snapshot, StaleError
from sessiond._paths import label_params, params, session_path, trimmed, user_path
from sessiond._records import incarnation

from ._connect import Connection
from ._errors import check_names, of_adk
from ._lease import Leases
from ._results import ForkedFrom, MintedToken, SessionList, SessionMetadata
from ._watch import WatchItem, watch
from ._wire import StoredSession, catch_up, event_from_wire, event_to_wire, session_from_wire, state_to_wire

# How many of the last events come with an effective history.
_LAST = 100


class SessiondSessionService(BaseSessionService):
    """Keeps the sessions of ADK agents in sessiond.

    What it guarantees, beyond what ADK asks of a session service:

    - When `append_event` returns, the event and all its state changes are on disk, and every later read through any
      process shows them.
    - If it raises, the session object and the event are as they were before. The event may be appended again, also if
      it is unknown whether it was stored: its id makes sure that it is stored once.
    - Appends through one session object take turns, so `session.events` has the order of the store.
    - Concurrent writers of different keys of app or user state never undo one another. For several writers of one key
      see `apply_ops`, and `sessiond_adk.ops` for tools.

    An instance may be used by several event loops and threads; each loop has its own connections.
    """

    def __init__(
        self,
        url: str,
        *,
        concurrency: Literal["none", "session", "lease"] = "none",
        history: Literal["full", "effective"] = "full",
        token: str | Callable[[], str | Awaitable[str]] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 15.0,
        retry_for: float = 30.0,
        ssl_context: ssl.SSLContext | None = None,
        lease_wait: float = 300.0,
        lease_ttl: float = 60.0,
    ) -> None:
        """Opens no connection yet.

        Args:
          url: Where sessiond is: `http://HOST:PORT`, `https://HOST`, or the same as `sessiond://HOST:PORT` and
            `sessiond+https://HOST`, with a path if a proxy puts it under one. A `sessiond://` URL without a port means
            8080.
          concurrency: What becomes of several writers of one session.
            `"none"`: appends are unconditional; events of several writers interleave, and for each key the last writer
            wins. `"session"`: an append to a session that others have appended to since the object was loaded is
            refused with `StaleSessionError`. `"lease"`: invocations of a session take turns, those of all services of
            this mode, in all processes. The first event of an invocation takes the lease of its session, once other
            invocations have released it, and then shows what they did in the session object. It is released when the
            runner is done with the invocation. Events without an invocation take none.
          history: Which events `get_session` loads. `"full"`: all. `"effective"`: those that ADK makes a prompt of,
            without what was rewound and what compactions cover. Prompts are the same. Without a `config` it loads the
            last 100 events, too, covered or not: in these a runner looks for the agent that goes on, for calls that are
            answered now, and for what the next summary overlaps. `num_recent_events` counts what is left. What needs
            earlier events that are covered needs `"full"`: a function response to a call among them, which ADK refuses
            otherwise; an invocation among them that is resumed; and `Runner.rewind_async`, which is always refused
            here. (`rewind_session` is not.)
          token: The credential, an API key, a user token or a JWT, sent as `Authorization: Bearer TOKEN`. By default
            that of the variable `SESSIOND_TOKEN`, which is read here; none if it is not set. `""` is none, whatever
            the variable says. Or a function that returns the token, plain or `async`. It is called for the first
            request, its token is kept, and it is called again when the server refuses that one (401): once for all
            requests that wait, each of which is then sent once more. A plain function is called in a thread, so it
            may block; an `async` one runs in the event loop of one of the requests.
          headers: Sent with every request. An `Authorization` among them takes the place of `token`.
          timeout: Seconds that one attempt of a request may take, from the connection, for which it has 2 s at most, to
            the end of the answer.
          retry_for: Seconds in which a request that found no connection, got no answer, was refused for now (429, 503)
            or whose outcome the server does not know is tried again: after pauses that grow up to 8 s, never
            sooner than `Retry-After` says, and for the last time when it has passed. 0 tries once.
          ssl_context: For `https:`; the default trusts the authorities of the system.
          lease_wait: Seconds for which `"lease"` waits for others until it raises `SessionBusyError`; 0 waits for none.
          lease_ttl: Seconds, 1 to 900, after the last event of an invocation, in which none can take over from it. One
            that was superseded stores no event any more: `append_event` raises `StaleSessionError`.

        Raises:
          ValueError: The URL is not of that form or has a credential, the token or a header cannot be sent, there are
            a token and a header `Authorization`, or `concurrency` or `history` is another word.
        """
        if concurrency not in ("none", "session", "lease"):
            raise ValueError('`concurrency` is "none", "session" or "lease".')
        if history not in ("full", "effective"):
            raise ValueError('`history` is "full" or "effective".')
        self._if_seen = concurrency == "session"
        self._effective = history == "effective"
        self._db = Connection(
            url, token=token, headers=headers, timeout=timeout, retry_for=retry_for, ssl_context=ssl_context
        )
        self._http = self._db._http
        self._leases = Leases(wait=lease_wait, ttl=lease_ttl) if concurrency == "lease" else None
        # Whose turn it is to append through a session object. The loop is part of the name because a lock belongs to
        # one; an entry lives as long as somebody holds or awaits its lock.
        self._turns: weakref.WeakValueDictionary[tuple[asyncio.AbstractEventLoop, int], asyncio.Lock] = (
            weakref.WeakValueDictionary()
        )

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
        display_name: str | None = None,
        labels: Mapping[str, str] | None = None,
        ttl: float | None = None,
    ) -> Session:
        """Creates a session, once, also if the first answer gets lost.

        Args:
          app_name: The app.
          user_id: The user.
          state: What it begins with: `app:` and `user:` keys go to app and user state, `temp:` keys nowhere.
          session_id: Its id, without white space around it; if it is None or blank, one is generated.
          display_name: A name for people.
          labels: What `list_sessions` can filter by: names of `a-z0-9_.-`, up to 64.
          ttl: Seconds until it expires, that is, until there is no such session any more; by default it never does.

        Raises:
          AlreadyExistsError: There is such a session; it is left as it is.
          SessiondInputError: An id or a value breaks a rule of sessiond.
          SessiondError: sessiond cannot be reached.
        """
        # Nobody else knows an id that is drawn here: what a get-or-create gets can only be what an attempt before made.
        name = "" if session_id is None else session_id
        check_names(app_name=app_name, user_id=user_id, session_id=name, may_be_blank=True)
        name = trimmed(name)
        handle = self._db.session(app_name, user_id, name or None)
        with of_adk(name, made=name):
            made = await handle.create(
                state=state_to_wire(state or {}),
                display_name=display_name,
                labels=labels and dict(labels),
                ttl=ttl,
                exist_ok=not name,
            )
        return session_from_wire(made)

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
        at_revision: int | None = None,
    ) -> Session | None:
        """Returns a session with its merged state and its events, as of one moment; None if there is none.

        Args:
          app_name: The app.
          user_id: The user.
          session_id: The session.
          config: Limits the events: first to the last `num_recent_events`, of these to those not before
            `after_timestamp`.
          at_revision: As it was after so many events, with the app and user state of that moment; 0 for the moment of
            its creation. It is what is in the store now by default. It has all events of that time, whatever the
            service's `history`.

        Raises:
          SessiondInputError: `at_revision` is beyond the last event.
          SessiondError: sessiond cannot be reached.
        """
        check_names(app_name=app_name, user_id=user_id, session_id=session_id, may_be_blank=True)
        name = trimmed(session_id)
        if not name:
            return None
        if at_revision is not None:
            return await self._get_at(app_name, user_id, name, at_revision, config)
        return await self._get(app_name, user_id, name, config)

    async def get_metadata(self, *, app_name: str, user_id: str, session_id: str) -> SessionMetadata | None:
        """Returns what is known of a session beside its state and events; None if there is none."""
        stored, _ = await self._read(_path(app_name, user_id, session_id), {"numRecentEvents": "0"})
        return None if stored is None else _metadata(Snapshot(stored))

    async def get_state(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        scope: Literal["app", "user", "session"] | None = None,
        at_revision: int | None = None,
    ) -> dict[str, Any] | None:
        """Returns the merged state of a session without its events; None if there is none.

        Args:
          app_name: The app.
          user_id: The user.
          session_id: The session.
          scope: Only the state of this scope; keys keep their prefixes.
          at_revision: As it was after so many events, also app and user state; 0 for the moment of its creation.

        Raises:
          SessiondInputError: `at_revision` is beyond the last event.
          SessiondError: sessiond cannot be reached.
        """
        query = params(scope=scope, atRevision=at_revision)
        state, _ = await self._read(_path(app_name, user_id, session_id) + "/state", query)
        return state

    async def list_sessions(
        self,
        *,
        app_name: str,
        user_id: str | None = None,
        labels: Mapping[str, str] | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> SessionList:
        """Returns the sessions of a user, or of all users of the app, with merged state and without events.

        By last update, the latest at the end, then by user and id. What changes meanwhile may or may not be seen.

        Args:
          app_name: The app.
          user_id: The user; all users of the app by default.
          labels: Only sessions that have all of these.
          page_size: Return one page of at most so many, 1 to 1000, instead of all. A page of large states has fewer.
          page_token: Return the page behind the one that had this `next_page_token`; everything else must be as it was
            for that one.

        Raises:
          SessiondInputError: `page_size` or `page_token` is none.
          SessiondError: sessiond cannot be reached.
        """
        check_names(app_name=app_name)
        if user_id is not None:
            check_names(user_id=user_id)
        path = user_path(app_name, *([] if user_id is None else [user_id])) + "/sessions"
        query = {"includeState": "true", **label_params(labels)}
        if page_size is not None or page_token is not None:
            query |= params(pageSize=page_size, pageToken=page_token)
            page = (await self._http.send("GET", path, params=query)).success()
            found: list[Session] = [session_from_wire(stored) for stored in page["sessions"]]
            return SessionList(sessions=found, next_page_token=page.get("nextPageToken"))
        query["pageSize"] = "1000"
        sessions: dict[tuple[str, str], Session] = {}
        async for reply in self._http.pages(path, query, {}):
            for stored in reply.body["sessions"]:
                session = session_from_wire(stored)
                # One that was updated between two pages is on both.
                sessions.pop((session.user_id, session.id), None)
                sessions[session.user_id, session.id] = session
        return SessionList(sessions=list(sessions.values()))

    async def update_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        display_name: str | EllipsisType | None = ...,
        labels: Mapping[str, str] | EllipsisType | None = ...,
        ttl: float | EllipsisType | None = ...,
    ) -> SessionMetadata:
        """Changes the metadata of a session; it appends no event.

        What is not given stays, None clears it. `labels` take the place of all that there were, `ttl` counts from now.

        Raises:
          SessionNotFoundError: There is no such session.
          SessiondInputError: A value breaks a rule of sessiond.
          SessiondError: sessiond cannot be reached.
        """
        replaced = dict(labels) if isinstance(labels, Mapping) else labels
        with of_adk(session_id):
            handle = self._session(app_name, user_id, session_id)
            return _metadata(await handle.set_metadata(display_name=display_name, labels=replaced, ttl=ttl))

    async def fork_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        at_revision: int | None = None,
        new_session_id: str | None = None,
    ) -> Session:
        """Makes a session of the same user that begins with the events of another one, once.

        The events are the same, with their ids and times, and so is the session's own state after them. App and user
        state are shared by both. Display name, labels and expiry are copied. The source stays as it is.

        Args:
          app_name: The app.
          user_id: The user.
          session_id: The session that is forked.
          at_revision: With how many of its events the fork begins; with all by default.
          new_session_id: The id of the fork; if it is None or blank, one is generated.

        Raises:
          SessionNotFoundError: There is no such session.
          AlreadyExistsError: There is a session `new_session_id`; it is left as it is.
          SessiondInputError: `at_revision` is beyond the last event, or an id breaks a rule of sessiond.
          SessiondError: sessiond cannot be reached.
        """
        name = "" if new_session_id is None else new_session_id
        check_names(session_id=name, may_be_blank=True)
        name = trimmed(name)
        with of_adk(session_id, made=name):
            handle = self._session(app_name, user_id, session_id)
            _, copy = await handle._fork(at=at_revision, id=name or None, limits={})
        return session_from_wire(copy)

    async def redact_event(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        event_id: str,
        reason: str | None = None,
        state: Literal["keep", "remove"] = "keep",
    ) -> Event:
        """Removes what an event says from the session and from the forks that hold it, for good.

        The event stays in its place, with its author, its times and, with `"keep"`, its changes of state. It takes the
        role `operator`. A session that was read before still has the event as it was.

        Args:
          app_name: The app.
          user_id: The user.
          session_id: The session.
          event_id: The event.
          reason: Why, up to 256 bytes: every reader of the event sees it.
          state: `"remove"` takes the values that the event set, too: from past states, and from the present one where
            nobody has set the key since.

        Returns:
          The event as it is now.

        Raises:
          SessionNotFoundError: There is no such session.
          SessiondInputError: A value breaks a rule of sessiond.
          SessiondError: There is no such event, or sessiond cannot be reached.
        """
        with of_adk(session_id):
            handle = self._session(app_name, user_id, session_id)
            redacted = await handle.redact(event_id, reason=reason, state=state)
        about = ("forks", "revision")
        return event_from_wire({name: value for name, value in redacted.items() if name not in about}, session_id)

    async def render_template(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        template: str,
        braces: Literal["adk", "literal"] = "adk",
        missing: Literal["error", "empty", "keep"] = "error",
    ) -> str:
        """Fills in an instruction template from the merged state of a session, as ADK does it for agents.

        `{key}`, `{app:key}` and `{user:key}` become the value, texts as they are, None as nothing, all else as compact
        JSON; `{key?}` becomes nothing if there is no such key. What else is in braces stays.

        Args:
          app_name: The app.
          user_id: The user.
          session_id: The session.
          template: The template.
          braces: What `{{key}}` is: `"adk"` the value, `"literal"` the text `{key}`.
          missing: What becomes of a key that is not there: `"error"` raises, `"empty"` is nothing, `"keep"` leaves it.

        Raises:
          SessionNotFoundError: There is no such session.
          SessiondInputError: Keys are missing, which it names.
          SessiondError: sessiond cannot be reached.
        """
        with of_adk(session_id):
            handle = self._session(app_name, user_id, session_id)
            return await handle.render(template, braces=braces, missing=missing)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Deletes a session with its events and its own state, if there is one. App and user state stay."""
        check_names(app_name=app_name, user_id=user_id, session_id=session_id, may_be_blank=True)
        if name := trimmed(session_id):
            with of_adk(name):
                await self._db.session(app_name, user_id, name).delete()

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Returns the state of a user in an app, keys without `user:`; needs no session."""
        check_names(app_name=app_name, user_id=user_id)
        return await self._db.user(app_name, user_id).state()

    async def append_event(self, session: Session, event: Event) -> Event:
        """Appends an event and applies its `state_delta`, in the store and in `session`.

        A partial event is returned as it is. `temp:` keys are put into `session.state` and are not sent; the event
        loses them. `session.last_update_time` becomes the event's `timestamp`. An event that the session already has
        is not applied again.

        Raises:
          SessionNotFoundError: There is no such session, or no more.
          StaleSessionError: In the mode `session`: others have appended events that `session` has not seen. In the mode
            `lease`: another turn has taken over from this one.
          SessionBusyError: In the mode `lease`: another turn has the session. It is a `StaleSessionError`, too.
          AlreadyExistsError: The session has another event with this id.
          SessiondInputError: The event or a value breaks a rule of sessiond, such as its limit of size.
          ValueError: The event rewinds, and the service's `history` is `"effective"`.
          SessiondError: sessiond cannot be reached. Append the same event again, to the same session object.
        """
        if event.partial:
            return event
        if self._effective and event.actions.rewind_before_invocation_id:
            # Its deltas are what ADK folds of the events that it sees: not of all.
            raise ValueError(
                "ADK computes what a rewind restores from the events of the session object, of which a service with "
                '`history="effective"` leaves some out. Use `rewind_session`, or a service with `history="full"`.'
            )
        async with self._turn(session):
            seen = session.seen if isinstance(session, StoredSession) else 0
            stored = await self._append(session, event_to_wire(event), if_seen=self._if_seen)
            # The object may show the event without having it: a compaction may cover it.
            shown = stored.sequence <= seen or any(known.id == event.id for known in session.events)
            if not (stored.replayed and shown):
                await super().append_event(session, event)
                session.last_update_time = event.timestamp
        return event

    async def apply_ops(
        self,
        session: Session,
        ops: Sequence[Mapping[str, Any]],
        *,
        preconditions: Sequence[Mapping[str, Any]] = (),
        author: str = "user",
        invocation_id: str = "",
        once: str | None = None,
    ) -> dict[str, Any]:
        """Changes state by operators, which the server applies to what is there: nothing is lost between writers.

        They are applied in order, all or none, through one event that is appended to the session, also to `session`.
        It does not matter here whether `session` is stale. After a lost answer they are not applied twice.

        Args:
          session: The session whose state, user state and app state the keys are of.
          ops: What to do, each `{"op": ..., "key": ..., "value": ...}`; the operators are sessiond's: `set`, `remove`
            (without value), `increment`, `append`, `union`, `max`, `min`, `merge`.
          preconditions: What must hold right before, or nothing is changed; see `sessiond_adk.ops` for what makes them.
          author: The author of the event.
          invocation_id: The invocation that the event is part of.
          once: An id for this change, the same in every run of the program: the session makes a change of this id once.
            It is the id of the event. Where it was made before, whoever made it, nothing is changed, and the values are
            those that it had then.

        Returns:
          The values of the keys after it; a removed key is absent.

        Raises:
          SessionNotFoundError: There is no such session.
          StaleSessionError: A precondition does not hold; it says which. Nothing was changed.
          AlreadyExistsError: The session has another event, or another change, of the id `once`. Nothing was changed.
          SessiondInputError: An operator does not fit the value that is there, or is unknown. Nothing was changed.
          SessiondError: sessiond cannot be reached.
        """
        event: dict[str, Any] = {
            "id": Event.new_id() if once is None else once,
            # A change that is made again has the time of the first one.
            **({"timestamp": time.time()} if once is None else {}),
            "author": author,
            "invocationId": invocation_id,
            "actions": {
                "stateOps": [dict(op) for op in ops],
                **({"preconditions": [dict(condition) for condition in preconditions]} if preconditions else {}),
            },
        }
        async with self._turn(session):
            seen = session.seen if isinstance(session, StoredSession) else 0
            stored = await self._append(session, event, if_seen=False, is_change=True)
            values = dict(stored.delta)
            # A session that was read after the change shows what became of it since.
            shown = stored.sequence <= seen or any(known.id == stored.id for known in session.events)
            if not (stored.replayed and shown):
                appended = event_from_wire(stored, session.id)
                for op in ops:
                    if op["key"] not in values:
                        session.state.pop(op["key"], None)
                session.state.update(values)
                session.events.append(appended)
                session.last_update_time = appended.timestamp
        return values

    async def rewind_session(
        self, session: Session, *, before_invocation_id: str | None = None, to_revision: int | None = None
    ) -> None:
        """Takes a session back, in the store and in `session`, through one event that the server appends.

        The session's own state becomes what it was then: keys get back their values, also those of the initial state,
        and later keys are removed. App and user state stay, and so do the events; ADK's agents do not see those that
        were taken back. (`Runner.rewind_async` computes what to restore from the events that it can see instead.)

        Args:
          session: The session. In the mode `session`, it must not be stale.
          before_invocation_id: To before the first event of this invocation.
          to_revision: Or to right after the event of this number; 0 for before all.

        Raises:
          SessionNotFoundError: There is no such session.
          InvocationNotFoundError: It has no event of this invocation.
          StaleSessionError: As `append_event` raises it.
          SessiondInputError: Not one of the two was given, or `to_revision` is beyond the last event.
          SessiondError: sessiond cannot be reached. It is unknown then whether the session was taken back.
        """
        async with self._turn(session):
            with self._of_turn(session):
                back = await self._handle(session).rewind(
                    before_invocation=before_invocation_id,
                    to_revision=to_revision,
                    if_revision=_seen(session) if self._if_seen else None,
                )
            await self._show(session, session_from_wire(back))

    def watch(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        after: str | int | None = None,
        include_state: bool = False,
    ) -> AsyncGenerator[WatchItem, None]:
        """Follows a session: yields what is there, and then each event as it is committed, by whichever process.

            async for item in service.watch(app_name="cafe", user_id="ada", session_id="s"):
                if isinstance(item, EventItem):
                    print(item.event.author, item.event.content)

        Each event comes once and in order, also if the connection breaks: then the watch comes back by itself and goes
        on behind the last one, for as long as it is iterated. It pauses in between as the server asks, else for up to
        1 s, doubled for each further attempt up to 30 s, at random. Only `CaughtUp`, `MetadataChange` and a whole
        `StateChange` come again after that. To go on in another process, store `item.cursor` when the item has had its
        effect, and give it as `after`.

        A watch ends after `Deleted`, or when the caller stops to iterate; `contextlib.aclosing` closes its connection
        at once then. Each has a connection of its own. A slow reader loses nothing.

        Args:
          app_name: The app.
          user_id: The user.
          session_id: The session.
          after: Begin behind this place: a `cursor`, the number of an event, or `"now"` for what is still to come. By
            default the whole log is yielded.
          include_state: Yield the state, too; see `StateChange`.

        Raises:
          SessionNotFoundError: There is no such session.
          PositionGoneError: `after` is not in the log (any more).
          SessiondAccessError: The credential was refused; one from a function was asked for again before.
          SessiondInputError: An argument breaks a rule of sessiond.
        """
        session = self._session(app_name, user_id, session_id)
        return watch(session, after=after, include_state=include_state)

    async def mint_token(
        self, app_name: str, user_id: str, *, role: str | None = None, ttl: float | None = None
    ) -> MintedToken:
        """Makes a token for one user of one app, for a front end of one's own that talks to sessiond by itself.

        It needs an API key of the role `agent` or above as the service's token. The minted token never allows more than
        that key, and ends with it.

        Args:
          app_name: The app.
          user_id: The user, who is somebody that the caller has authenticated.
          role: What the token allows, at most what the key does; by default `user`.
          ttl: Seconds until it ends, at most 24 hours; by default one hour. It ends no later than the key.

        Raises:
          SessiondAccessError: The service has no such key, or the key does not allow what is asked for.
          SessiondInputError: A name, the role or `ttl` breaks a rule of sessiond.
          SessiondError: sessiond cannot be reached.
        """
        check_names(app_name=app_name, user_id=user_id)
        minted = await self._db.mint_token(app_name, user_id, role=role, ttl=ttl)
        return MintedToken(token=minted.token, expire_time=minted.expire_time)

    async def flush(self) -> None:
        """Releases the leases of the running event loop; events are not held back.

        An invocation that goes on may do so until another one takes the lease, and is superseded then.
        """
        if self._leases:
            await self._leases.release()

    async def close(self) -> None:
        """Releases the leases and closes the connections of the running event loop.

        The service can be used again.
        """
        await self.flush()
        await self._db.close()

    async def __aenter__(self) -> SessiondSessionService:
        """Returns the service."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connections."""
        await self.close()

    async def _read(self, path: str, query: Mapping[str, str]) -> tuple[dict[str, Any] | None, str]:
        """Returns an answer about a session, None if there is no such session; and its incarnation."""
        reply = await self._http.send("GET", path, params=query)
        if reply.code == "session_not_found":
            return None, ""
        return reply.success(), incarnation(reply.headers.get("ETag", ""))

    async def _get(
        self, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> StoredSession | None:
        path = _path(app_name, user_id, session_id)
        limits = (
            params(numRecentEvents=config.num_recent_events, afterTimestamp=config.after_timestamp) if config else {}
        )
        if not self._effective:
            stored, _ = await self._read(path, limits)
            return None if stored is None else session_from_wire(stored)
        stored, mark = await self._read(path, {"history": "effective", **limits})
        if stored is None:
            return None
        if not config:
            stored["events"] = await self._with_the_last(path, stored, mark)
        return session_from_wire(stored, config)

    async def _with_the_last(self, path: str, stored: dict[str, Any], mark: str) -> list[dict[str, Any]]:
        """Returns the events of an effective history and the last events of the log, also those that are covered.

        Prompts are the same with events that a compaction covers, as long as the compaction is there.
        """
        left: list[dict[str, Any]] = stored["events"]
        revision = stored["revision"]
        last = sum(event["sequence"] > revision - _LAST for event in left)
        if last == min(_LAST, revision) or not any((event.get("actions") or {}).get("compaction") for event in left):
            return left
        # What was rewound comes without what rewound it.
        query = {"order": "desc", "excludeRewound": "true", "beforeSequence": str(revision + 1)}
        page, seen = await self._read(f"{path}/events", {**query, "pageSize": str(_LAST)})
        if page is None or seen != mark:
            return left
        events = {event["sequence"]: event for event in (*page["events"], *left)}
        return [events[sequence] for sequence in sorted(events)]

    async def _get_at(
        self, app_name: str, user_id: str, session_id: str, revision: int, config: GetSessionConfig | None
    ) -> StoredSession | None:
        """Puts a session together as it was. What is in the past does not change, so several requests show one moment.

        Unless the session is made anew between them: then it begins anew, too.
        """
        path = _path(app_name, user_id, session_id)
        recent, after = (config.num_recent_events, config.after_timestamp) if config else (None, None)
        # Event `revision` is read in any case, for its time.
        limit = revision if recent is None else min(revision, max(recent, 1))
        while True:
            stored, mark = await self._read(path, {"numRecentEvents": "0"})
            state, seen = await self._read(f"{path}/state", {"atRevision": str(revision)})
            if stored is None or state is None:
                return None
            same = seen == mark
            events: list[dict[str, Any]] = []
            query = {"order": "desc", "beforeSequence": str(revision + 1)}
            while same and len(events) < limit:
                query["pageSize"] = str(min(limit - len(events), 1000))
                page, seen = await self._read(f"{path}/events", query)
                same = page is not None and seen == mark
                if page is None or not page["events"]:
                    # Gone; or the events before were trimmed.
                    break
                events += page["events"]
                query["beforeSequence"] = str(events[-1]["sequence"])
            if same:
                break
        stored |= {"state": state, "revision": revision}
        stored["lastUpdateTime"] = events[0]["timestamp"] if events else stored["createTime"]
        kept = events if recent is None else events[:recent]
        stored["events"] = [event for event in reversed(kept) if after is None or event["timestamp"] >= after]
        return session_from_wire(stored)

    def _session(self, app_name: str, user_id: str, session_id: str) -> AsyncSession:
        check_names(app_name=app_name, user_id=user_id, session_id=session_id)
        return self._db.session(app_name, user_id, session_id)

    def _handle(self, session: Session) -> AsyncSession:
        """Returns what writes to a session; the turn of it, if it has one."""
        turn = self._leases.handle(session) if self._leases else None
        return turn or self._db.session(session.app_name, session.user_id, session.id)

    @contextmanager
    def _of_turn(self, session: Session) -> Iterator[None]:
        """Raises ADK's errors for what a write raises."""
        try:
            with of_adk(session.id):
                yield
        except StaleError as fenced:
            raise (self._leases.fenced(session, fenced) if self._leases else fenced) from fenced

    async def _append(
        self, session: Session, event: dict[str, Any], *, if_seen: bool, is_change: bool = False
    ) -> sessiond.Event:
        """Stores an event. Of a change, an earlier event with its id that makes the same change will do."""
        if self._leases and (invocation_id := event.get("invocationId")):
            await self._take_turn(self._leases, session, invocation_id)
        with self._of_turn(session):
            if_revision = _seen(session) if if_seen else None
            handle = self._handle(session)
            if is_change:
                stored = await handle._apply(event, if_revision=if_revision, limits={})
            else:
                stored = await handle.append(event, if_revision=if_revision, answer="minimal")
        if isinstance(session, StoredSession):
            session.saw(stored.sequence)
        return stored

    async def _take_turn(self, leases: Leases, session: Session, invocation_id: str) -> None:
        """Takes the lease, and shows in `session` what others have appended until then."""
        handle = self._db.session(session.app_name, session.user_id, session.id)
        revision = await leases.take(session, handle, invocation_id)
        while isinstance(session, StoredSession) and (missed := revision - session.seen) > 0:
            if self._effective:
                await self._reload(session, missed)
                return
            recent = GetSessionConfig(num_recent_events=missed)
            stored = await self._get(session.app_name, session.user_id, session.id, recent)
            if stored is None:
                raise SessionNotFoundError(f"Session {session.id} not found.")
            # Side writers may have appended more meanwhile.
            revision = stored.seen
            if revision - session.seen == missed:
                catch_up(session, stored)

    async def _show(self, session: Session, stored: StoredSession) -> None:
        """Shows in `session` what is stored now; `stored` has all events."""
        if self._effective and isinstance(session, StoredSession):
            await self._reload(session, max(stored.seen - session.seen, 0))
        else:
            catch_up(session, stored)

    async def _reload(self, session: StoredSession, missed: int) -> None:
        """Shows in `session` the effective history of now: what others did may have taken events out of it."""
        config = session.config
        if config and config.num_recent_events is not None:
            config = config.model_copy(update={"num_recent_events": config.num_recent_events + missed})
        stored = await self._get(session.app_name, session.user_id, session.id, config)
        if stored is None:
            raise SessionNotFoundError(f"Session {session.id} not found.")
        catch_up(session, stored, whole=True)

    @asynccontextmanager
    async def _turn(self, session: Session) -> AsyncIterator[None]:
        name = (asyncio.get_running_loop(), id(session))
        turn = self._turns.get(name)
        if turn is None:
            turn = self._turns[name] = asyncio.Lock()
        async with turn:
            yield


def _path(app_name: str, user_id: str, session_id: str) -> str:
    check_names(app_name=app_name, user_id=user_id, session_id=session_id)
    return session_path(app_name, user_id, session_id)


def _seen(session: Session) -> int:
    """Returns the revision that a session object shows. Raises StaleSessionError for one that is not of a store."""
    if not isinstance(session, StoredSession):
        raise StaleSessionError(f"Session {session.id} was not loaded from this service; get it first.")
    return session.seen


def _metadata(stored: Snapshot) -> SessionMetadata:
    source = stored.forked_from
    return SessionMetadata(
        revision=stored.revision,
        create_time=stored.create_time,
        last_update_time=stored.last_update_time,
        display_name=stored.display_name,
        labels=stored.labels,
        expire_time=stored.expire_time,
        forked_from=ForkedFrom(source["sessionId"], source["revision"]) if source else None,
    )
