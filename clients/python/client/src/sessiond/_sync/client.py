# Made by make_sync.py, of _async/client.py.
"""The client."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from .._connect import has_credential, http_url, sent_headers
from .._errors import Kinds
from .._paths import given, label_params, name_of, params, text_of, user_path
from .._records import Hits, Snapshot, Token, hits, snapshot
from .._times import Limits
from .http import Http
from .session import Session
from .state import Scope, User

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class Client:
    """A client of sessiond. It may be used by several threads."""

    _kinds: ClassVar[Kinds] = {}
    """Classes to raise in the place of these: for packages that have errors of their own."""

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | Callable[[], str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 15.0,
        retry_for: float = 30.0,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        """Opens no connection yet.

        Args:
          url: Where sessiond is: `http://HOST:PORT`, `https://HOST`, or the same as `sessiond://HOST:PORT` and
            `sessiond+https://HOST`, with a path if a proxy puts it under one. A `sessiond://` URL without a port means
            8080. By default that of the variable `SESSIOND_URL`, else `http://127.0.0.1:8080`.
          token: The credential, an API key, a user token or a JWT, sent as `Authorization: Bearer TOKEN`. By default
            that of the variable `SESSIOND_TOKEN`, which is read here; none if it is not set. `""` is none, whatever
            the variable says. Or a function that returns the token. It is called for the first
            request, its token is kept, and it is called again when the server refuses that one (401): once for all
            requests that wait, each of which is then sent once more.
          headers: Sent with every request. An `Authorization` among them takes the place of `token`.
          timeout: Seconds that one attempt of a request may take, from the connection, for which it has 2 s at most, to
            the end of the answer.
          retry_for: Seconds in which a request that found no connection, got no answer, was refused for now (429, 503)
            or whose outcome the server does not know is tried again, after pauses that grow up to 8 s, never sooner
            than `Retry-After` says, and for the last time when it has passed. 0 tries once.
          ssl_context: For `https:`; the default trusts the authorities of the system.

        Raises:
          ValueError: The URL is not of that form or has a credential, the token or a header cannot be sent, or there
            are a token and a header `Authorization`.
          ImportError: The environment names a proxy for the URL, which needs the extra `httpx`.
        """
        sent = sent_headers(headers)
        if not has_credential(sent, token):
            token = os.environ.get("SESSIOND_TOKEN") if token is None else token
        self._http = Http(
            http_url(url),
            token=token,
            headers=sent,
            timeout=timeout,
            retry_for=retry_for,
            ssl_context=ssl_context,
            kinds=self._kinds,
        )

    def session(self, app: str, user: str, id: str | None = None) -> Session:
        """Returns the handle of a session, without a request; of a new id, if none is given."""
        return Session(self._http, app, user, id)

    def app(self, app: str) -> Scope:
        """Returns the handle of an app's state, without a request."""
        return Scope(self._http, app)

    def user(self, app: str, user: str) -> User:
        """Returns the handle of a user's state and files, without a request."""
        return User(self._http, app, user)

    def sessions(
        self,
        app: str,
        user: str | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        title: str | None = None,
        id_prefix: str | None = None,
        user_prefix: str | None = None,
        forked_from: str | None = None,
        order_by: Literal["lastUpdateTime", "createTime"] | None = None,
        reverse: bool = False,
        include_state: bool = False,
        page_size: int | None = None,
        **limits: Unpack[Limits],
    ) -> Iterator[Snapshot]:
        """Yields the sessions of a user, or of all users of the app, without events, page by page.

        A session that is updated meanwhile may come twice.

        Args:
          app: The app.
          user: The user; all users of the app by default.
          labels: Only sessions that have all of these.
          title: Only sessions whose display name or id has these words.
          id_prefix: Only ids that begin so.
          user_prefix: Only users whose ids begin so.
          forked_from: Only the forks of this session, of the user.
          order_by: By the last update, which is the default, or by creation; then by user and id.
          reverse: Begin with the latest.
          include_state: With merged state.
          page_size: How many are asked for at a time, up to 1,000.
          **limits: See `Limits`, of each page.
        """
        query = {
            **params(
                title=title,
                idPrefix=id_prefix,
                userPrefix=user_prefix,
                forkedFrom=forked_from,
                orderBy=order_by,
                order="desc" if reverse else None,
                includeState=include_state or None,
                pageSize=page_size,
            ),
            **label_params(labels),
        }
        for page in self._http.pages(user_path(app, *([] if user is None else [user])) + "/sessions", query, limits):
            for each in page.body["sessions"]:
                yield snapshot(each)

    def apps(self, **limits: Unpack[Limits]) -> Iterator[str]:
        """Yields the names of the apps that there are, in the order of their bytes."""
        for page in self._http.pages("/v1/apps", {}, limits):
            for each in page.body["apps"]:
                yield each["appName"]

    def users(self, app: str, **limits: Unpack[Limits]) -> Iterator[str]:
        """Yields the ids of the users of an app, in the order of their bytes."""
        for page in self._http.pages(user_path(app) + "/users", {}, limits):
            for each in page.body["users"]:
                yield each["userId"]

    def search(
        self,
        app: str,
        user: str,
        text: str,
        *,
        limit: int | None = None,
        since: float | None = None,
        until: float | None = None,
        author: str | None = None,
        session: str | None = None,
        except_session: str | None = None,
        **limits: Unpack[Limits],
    ) -> Hits:
        """Finds what was said in the sessions of a user: events that have one of the words, those with most first.

        Nothing is found that was rewound, redacted, trimmed or deleted. An event is found as soon as it is stored.

        Args:
          app: The app, whose policy must have `"search": {"index": true}`.
          user: The user.
          text: The words, whole ones, of which the first 32 count; case and accents do not.
          limit: How many events at most, up to 100; by default 10.
          since: Only what was stored at this time or later, in Unix seconds.
          until: Only what was stored before this time.
          author: Only what this author said.
          session: Only this session.
          except_session: Not this session.
          **limits: See `Limits`.

        Raises:
          ConflictError: The app has no index (`search_off`); the error says how an operator switches it on.
          InputError: There is no word in the text.
        """
        query = params(
            text=text_of(text, "text to search for"),
            limit=limit,
            to=until,
            author=author,
            session=session,
            exceptSession=except_session,
            **{"from": since},
        )
        return hits((self._http.send("GET", user_path(app, user) + "/search", params=query, **limits)).success())

    def mint_token(
        self, app: str, user: str, *, role: str | None = None, ttl: float | None = None, **limits: Unpack[Limits]
    ) -> Token:
        """Makes a token for one user of one app, for a front end of one's own that talks to sessiond by itself.

        It needs an API key of the role `agent` or above as the client's token. The minted token never allows more than
        that key, and ends with it.

        Args:
          app: The app.
          user: The user, who is somebody that the caller has authenticated.
          role: What the token allows, at most what the key does; by default `user`.
          ttl: Seconds until it ends, at most 24 hours; by default one hour. It ends no later than the key.
          **limits: See `Limits`.

        Raises:
          AccessError: The client has no such key, or the key does not allow what is asked for.
        """
        names = {"app": name_of(app, "name of the app"), "user": name_of(user, "id of the user")}
        body = {**names, **given(role=role, ttl=ttl)}
        return Token((self._http.send("POST", "/v1/tokens", body=body, **limits)).success())

    def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        **limits: Unpack[Limits],
    ) -> Any:
        """Sends what has no method here, and returns the JSON of the answer; None if it has none.

        Args:
          method: The method. The request may be sent again, so a write that is to happen once needs an id or an
            `Idempotency-Key`.
          path: Such as `/v1/apps/cafe/policy`, percent-encoded.
          json: The body.
          params: The query.
          headers: Headers.
          **limits: See `Limits`.
        """
        reply = self._http.send(method, path, body=json, params=params, headers=headers, **limits)
        return reply.success(object)

    def __repr__(self) -> str:
        """Shows where it asks, and no credential."""
        return f"{type(self).__name__}({self._http.url('')!r})"

    def close(self) -> None:
        """Closes the connections. The client can be used again."""
        self._http.close()

    def __enter__(self) -> Self:
        """Returns the client."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connections."""
        self.close()
