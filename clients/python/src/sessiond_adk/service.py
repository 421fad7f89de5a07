"""The session service."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
import uuid
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal
from urllib.parse import SplitResult, parse_qsl, urlsplit

import httpx
from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session

from ._http import Client, SessionBusyError, segments
from ._lease import Leases
from ._token import Bearer
from ._version import __version__
from ._watch import WatchItem, watch
from ._wire import StoredSession, event_from_wire, event_to_wire, session_from_wire, state_to_wire

# sessiond's default.
_PORT = 8080

_URL = (
    "The URL of sessiond is http://HOST:PORT, https://HOST, sessiond://HOST:PORT or sessiond+https://HOST, without a "
    "user, a query and a fragment."
)


@dataclass(frozen=True)
class MintedToken:
    """A token for one user of one app; its text form does not show it."""

    token: str = field(repr=False)
    """What the user sends as `Authorization: Bearer TOKEN`."""
    expire_time: float
    """When it ends, in Unix seconds."""


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
        strict: bool = False,
        token: str | Callable[[], str | Awaitable[str]] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 15.0,
        retry_for: float = 15.0,
        ssl_context: ssl.SSLContext | None = None,
        lease: Literal["off", "wait", "fail"] = "off",
        lease_wait: float = 300.0,
        lease_ttl: float = 60.0,
    ) -> None:
        """Opens no connection yet.

        Args:
          url: Where sessiond is: `http://HOST:PORT`, `https://HOST`, or the same as `sessiond://HOST:PORT` and
            `sessiond+https://HOST`, with a path if a proxy puts it under one. A `sessiond://` URL without a port means
            8080.
          strict: Refuse to append to a session that others have appended to since the object was loaded, with
            `StaleSessionError`. Otherwise appends are unconditional: events of several writers interleave, and for
            each key the last writer wins.
          token: The credential, an API key, a user token or a JWT, sent as `Authorization: Bearer TOKEN`. By default
            that of the variable `SESSIOND_TOKEN`, which is read here; none if it is not set. `""` is none, whatever
            the variable says. Or a function that returns the token, plain or `async`. It is called for the first
            request, its token is kept, and it is called again when the server refuses that one (401): once for all
            requests that wait, each of which is then sent once more. A plain function is called in a thread, so it
            may block; an `async` one runs in the event loop of one of the requests.
          headers: Sent with every request. An `Authorization` among them takes the place of `token`.
          timeout: Seconds to wait for the server to connect, to take and to send the next bytes, in each attempt.
          retry_for: Seconds in which a request that found no connection, got no answer, or was refused for now (429,
            503) is tried again, with growing pauses and never sooner than `Retry-After` says. No attempt begins later.
            0 tries once.
          ssl_context: For `https:`; the default trusts the usual authorities.
          lease: Whether the invocations of a session take turns, those of all services that say so, in all processes.
            The first event of an invocation takes the lease of its session. While another invocation has it, `"wait"`
            waits, and then shows what that one did in the session object; `"fail"` raises `SessionBusyError`. It is
            released when the runner is done with the invocation. Events without an invocation take none.
          lease_wait: Seconds for which `"wait"` waits, before it raises `SessionBusyError`.
          lease_ttl: Seconds, 1 to 900, after the last event of an invocation, in which none can take over from it. One
            that was superseded stores no event any more: `append_event` raises `StaleSessionError`.

        Raises:
          ValueError: The URL is not of that form or has a credential, the token or a header cannot be sent, there are
            a token and a header `Authorization`, or `lease` is another word.
        """
        self._strict = strict
        sent = httpx.Headers({"User-Agent": f"sessiond-adk/{__version__}"})
        sent.update(headers)
        for name, value in sent.items():
            # The HTTP library shows the value in its error.
            if not value.isprintable() or value != value.strip():
                raise ValueError(f"The header {name} has a value that cannot be sent.")
        if "Authorization" not in sent:
            token = os.environ.get("SESSIOND_TOKEN") if token is None else token
        elif token:
            raise ValueError("There are two credentials: `token`, and `Authorization` in `headers`.")
        self._http = Client(
            _http_url(url),
            auth=Bearer(token) if token else None,
            headers=sent,
            timeout=timeout,
            retry_for=retry_for,
            ssl_context=ssl_context,
        )
        if lease not in ("off", "wait", "fail"):
            raise ValueError('`lease` is "off", "wait" or "fail".')
        wait = lease_wait if lease == "wait" else 0.0
        self._leases = None if lease == "off" else Leases(self._http, wait=wait, ttl=lease_ttl)
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
    ) -> Session:
        """Creates a session, once, also if the first answer gets lost.

        `app:` and `user:` keys of `state` go to app and user state, `temp:` keys nowhere. White space around
        `session_id` is not part of it; if it is None or blank, one is generated.

        Raises:
          AlreadyExistsError: There is such a session; it is left as it is.
          SessiondInputError: An id or a value breaks a rule of sessiond.
          SessiondError: sessiond cannot be reached.
        """
        initial = state_to_wire(state or {})
        name = (session_id or "").strip()
        if not name:
            # Nobody else knows this id: what a get-or-create gets can only be what an attempt before has created.
            created = await self._http.send(
                "PUT", _sessions(app_name, user_id) + segments(str(uuid.uuid4())), body={"state": initial}
            )
            return session_from_wire(created.success())

        created = await self._http.send(
            "POST",
            _sessions(app_name, user_id),
            body={"sessionId": name, "state": initial},
            # By which sessiond knows what an attempt before has created.
            headers={"Idempotency-Key": str(uuid.uuid4())},
        )
        if created.code == "session_already_exists":
            raise AlreadyExistsError(f"Session with id {name} already exists.") from created.error
        return session_from_wire(created.success())

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Returns a session with its merged state and its events, as of one moment; None if there is none.

        `config` limits the events: first to the last `num_recent_events`, of these to those not before
        `after_timestamp`.
        """
        name = session_id.strip()
        return await self._get(app_name, user_id, name, config) if name else None

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Returns the sessions of a user, or of all users of the app, with merged state and without events.

        By last update, the latest at the end, then by user and id. What changes meanwhile may or may not be seen.
        """
        path = "/v1/apps" + segments(app_name) + "/sessions" if user_id is None else _sessions(app_name, user_id)
        params = {"includeState": "true", "pageSize": "1000"}
        sessions: dict[tuple[str, str], Session] = {}
        while True:
            page = (await self._http.send("GET", path, params=params)).success()
            for stored in page["sessions"]:
                session = session_from_wire(stored)
                # One that was updated between two pages is on both.
                sessions.pop((session.user_id, session.id), None)
                sessions[session.user_id, session.id] = session
            if "nextPageToken" not in page:
                return ListSessionsResponse(sessions=list(sessions.values()))
            params["pageToken"] = page["nextPageToken"]

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Deletes a session with its events and its own state, if there is one. App and user state stay."""
        if name := session_id.strip():
            (await self._http.send("DELETE", _sessions(app_name, user_id) + segments(name))).success()

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Returns the state of a user in an app, keys without `user:`; needs no session."""
        path = "/v1/apps" + segments(app_name) + "/users" + segments(user_id) + "/state"
        state: dict[str, Any] = (await self._http.send("GET", path)).success()
        return state

    async def append_event(self, session: Session, event: Event) -> Event:
        """Appends an event and applies its `state_delta`, in the store and in `session`.

        A partial event is returned as it is. `temp:` keys are put into `session.state` and are not sent; the event
        loses them. `session.last_update_time` becomes the event's `timestamp`. An event that the session already has
        is not applied again.

        Raises:
          SessionNotFoundError: There is no such session, or no more.
          StaleSessionError: With `strict`: others have appended events that `session` has not seen. With `lease`:
            another turn has taken over from this one.
          SessionBusyError: With `lease`: another turn has the session.
          AlreadyExistsError: The session has another event with this id.
          SessiondInputError: The event or a value breaks a rule of sessiond, such as its limit of size.
          SessiondError: sessiond cannot be reached. Append the same event again, to the same session object.
        """
        if event.partial:
            return event
        async with self._turn(session):
            _, replayed = await self._append(session, event_to_wire(event), if_seen=self._strict)
            if not (replayed and any(known.id == event.id for known in session.events)):
                await super().append_event(session, event)
                session.last_update_time = event.timestamp
        return event

    async def apply_ops(
        self,
        session: Session,
        ops: Sequence[Mapping[str, Any]],
        *,
        author: str = "user",
        invocation_id: str = "",
    ) -> dict[str, Any]:
        """Changes state by operators, which the server applies to what is there: nothing is lost between writers.

        They are applied in order, all or none, through one event that is appended to the session, also to `session`.
        `strict` does not matter here. After a lost answer they are not applied twice.

        Args:
          session: The session whose state, user state and app state the keys are of.
          ops: What to do, each `{"op": ..., "key": ..., "value": ...}`; the operators are sessiond's: `set`, `remove`
            (without value), `increment`, `append`, `union`, `max`, `min`, `merge`.
          author: The author of the event.
          invocation_id: The invocation that the event is part of.

        Returns:
          The values of the keys after it; a removed key is absent.

        Raises:
          SessionNotFoundError: There is no such session.
          SessiondInputError: An operator does not fit the value that is there, or is unknown. Nothing was changed.
          SessiondError: sessiond cannot be reached.
        """
        event = {
            "id": Event.new_id(),
            "timestamp": time.time(),
            "author": author,
            "invocationId": invocation_id,
            "actions": {"stateOps": [dict(op) for op in ops]},
        }
        async with self._turn(session):
            stored, _ = await self._append(session, event, if_seen=False)
            appended = event_from_wire(stored, session.id)
            values: dict[str, Any] = stored["actions"].get("stateDelta") or {}
            for op in ops:
                if op["key"] not in values:
                    session.state.pop(op["key"], None)
            session.state.update(values)
            session.events.append(appended)
            session.last_update_time = appended.timestamp
        return values

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
        name = session_id.strip()
        path = _sessions(app_name, user_id) + segments(name) + "/watch"
        return watch(self._http, path, name, after=after, include_state=include_state)

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
        wanted = {"app": app_name, "user": user_id, "role": role, "ttl": ttl}
        body = {name: value for name, value in wanted.items() if value is not None}
        minted = (await self._http.send("POST", "/v1/tokens", body=body)).success()
        return MintedToken(token=minted["token"], expire_time=minted["expireTime"])

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
        await self._http.close()

    async def __aenter__(self) -> SessiondSessionService:
        """Returns the service."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connections."""
        await self.close()

    async def _get(
        self, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> StoredSession | None:
        params = {}
        if config and config.num_recent_events is not None:
            params["numRecentEvents"] = str(config.num_recent_events)
        if config and config.after_timestamp is not None:
            params["afterTimestamp"] = repr(config.after_timestamp)
        reply = await self._http.send("GET", _sessions(app_name, user_id) + segments(session_id), params=params)
        return None if reply.code == "session_not_found" else session_from_wire(reply.success())

    async def _append(self, session: Session, event: dict[str, Any], *, if_seen: bool) -> tuple[dict[str, Any], bool]:
        """Stores an event; returns it as stored, and whether it had been stored before."""
        path = _sessions(session.app_name, session.user_id) + segments(session.id)
        headers: dict[str, str] = {}
        if self._leases:
            if invocation_id := event.get("invocationId"):
                await self._take_turn(self._leases, session, path, invocation_id)
            headers |= self._leases.headers(session)
        if if_seen:
            if not isinstance(session, StoredSession):
                raise StaleSessionError(f"Session {session.id} was not loaded from this service; get it first.")
            headers["If-Match"] = f'"{session.seen}"'
        reply = await self._http.send(
            "POST",
            f"{path}/events",
            body=event,
            headers=headers,
        )
        match reply.code:
            case "session_not_found":
                raise SessionNotFoundError(f"Session {session.id} not found.") from reply.error
            case "revision_mismatch":
                raise StaleSessionError(
                    f"Session {session.id} has been modified in storage since it was loaded; load it again."
                ) from reply.error
            case "fenced" if self._leases:
                raise self._leases.fenced(session, reply)
            case "lease_held":
                raise SessionBusyError(reply.body.get("owner"), reply.body.get("expireTime")) from reply.error
            case "event_id_conflict":
                raise AlreadyExistsError(
                    f"Session {session.id} has another event with the id {event['id']}."
                ) from reply.error
        stored: dict[str, Any] = reply.success()
        if isinstance(session, StoredSession):
            session.saw(stored["sequence"])
        return stored, "Idempotent-Replayed" in reply.headers

    async def _take_turn(self, leases: Leases, session: Session, path: str, invocation_id: str) -> None:
        """Takes the lease, and shows in `session` what others have appended until then."""
        revision = await leases.take(session, path, invocation_id)
        while isinstance(session, StoredSession) and (missed := revision - session.seen) > 0:
            recent = GetSessionConfig(num_recent_events=missed)
            stored = await self._get(session.app_name, session.user_id, session.id, recent)
            if stored is None:
                raise SessionNotFoundError(f"Session {session.id} not found.")
            # Side writers may have appended more meanwhile.
            revision = stored.seen
            if revision - session.seen == missed:
                session.catch_up(stored)

    @asynccontextmanager
    async def _turn(self, session: Session) -> AsyncIterator[None]:
        name = (asyncio.get_running_loop(), id(session))
        turn = self._turns.get(name)
        if turn is None:
            turn = self._turns[name] = asyncio.Lock()
        async with turn:
            yield


def _sessions(app_name: str, user_id: str) -> str:
    return "/v1/apps" + segments(app_name) + "/users" + segments(user_id) + "/sessions"


def split_url(url: str) -> SplitResult:
    """Splits a URL that has no credential in it.

    Raises:
      ValueError: It cannot be split, or has a credential; the message shows nothing of it.
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reads the port, which may be no number.
    except ValueError:
        raise ValueError(_URL) from None
    names = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    if "@" in parts.netloc or names & {"token", "access_token"}:
        raise ValueError(
            "The URL of sessiond holds no credential, for lists of processes and logs would show it. Give it as "
            "`token`, or in the variable SESSIOND_TOKEN."
        )
    return parts


def _http_url(url: str) -> str:
    parts = split_url(url)
    scheme = {"sessiond": "http", "sessiond+http": "http", "sessiond+https": "https"}.get(parts.scheme, parts.scheme)
    if scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(_URL)
    port = f":{_PORT}" if parts.scheme == "sessiond" and parts.port is None else ""
    return f"{scheme}://{parts.netloc.rstrip(':')}{port}{parts.path.rstrip('/')}"
