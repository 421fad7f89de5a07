"""State, and its changes by operators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from .._events import Change, Condition, Op, keyed
from .._paths import new_id, params, segment, text_of, user_path
from .._records import KeyChange
from .._reply import Reply
from .._times import Limits
from .artifacts import AsyncArtifacts
from .http import AsyncHttp

if TYPE_CHECKING:
    from typing_extensions import Unpack

_ABSENT: Any = object()


class AsyncState(ABC):
    """State that operators change: the server applies them to what is there, so writers lose nothing of one another.

    Each takes `when=` (preconditions), `once=` (an id for the change, which is made once, whoever makes it again),
    `if_revision=`, `timeout=` and `retry_for=`.
    """

    def __init__(self, http: AsyncHttp, path: str) -> None:
        """Takes the path of what has the state."""
        self._http = http
        self._path = path
        self.revision = 0
        """Up to which revision this handle has seen it; 0 before the first answer.

        Reads set it. Own writes do if nobody has written in between: else the handle stays stale, and a write with
        `if_revision=handle.revision` is refused.
        """

    @abstractmethod
    async def apply(
        self,
        ops: Sequence[Op],
        *,
        when: Sequence[Condition] = (),
        once: str | None = None,
        if_revision: int | None = None,
        **limits: Unpack[Limits],
    ) -> dict[str, Any]:
        """Applies operators in order, all or none."""

    async def set(self, key: str, value: Any, **how: Unpack[Change]) -> None:
        """Sets a key; None is a value like any other."""
        await self.apply([{"op": "set", "key": key, "value": value}], **how)

    async def remove(self, key: str, **how: Unpack[Change]) -> None:
        """Removes a key. An absent one stays absent."""
        await self.apply([{"op": "remove", "key": key}], **how)

    async def increment(self, key: str, by: float = 1, **how: Unpack[Change]) -> Any:
        """Adds a number, an absent key being 0, and returns the sum. Exact for integers of any size."""
        return await self._one("increment", key, by, how)

    async def push(self, key: str, *values: Any, **how: Unpack[Change]) -> Any:
        """Puts values at the end of a list, an absent key being an empty one, and returns the list."""
        return await self._one("append", key, list(values), how)

    async def union(self, key: str, *values: Any, **how: Unpack[Change]) -> Any:
        """Puts those values at the end of a list that are not in it yet, and returns the list."""
        return await self._one("union", key, list(values), how)

    async def merge(self, key: str, value: Any, **how: Unpack[Change]) -> Any:
        """Merges an object into that of a key, where None removes (RFC 7396), and returns the result."""
        return await self._one("merge", key, value, how)

    async def max(self, key: str, value: float, **how: Unpack[Change]) -> Any:
        """Raises a number to this one, unless it is larger or equal, and returns the result."""
        return await self._one("max", key, value, how)

    async def min(self, key: str, value: float, **how: Unpack[Change]) -> Any:
        """Lowers a number to this one, unless it is smaller or equal, and returns the result."""
        return await self._one("min", key, value, how)

    async def state_history(
        self, key: str, *, oldest_first: bool = False, page_size: int | None = None, **limits: Unpack[Limits]
    ) -> AsyncIterator[KeyChange]:
        """Yields the changes of a key, the latest first, page by page: what it was, when, and which event made it so.

        Args:
          key: With its prefix in a session: of an `app:` or `user:` key the changes by all sessions.
          oldest_first: Begin with the first one that is known.
          page_size: How many are asked for at a time, up to 1,000.
          **limits: See `Limits`, of each page.

        Raises:
          NotFoundError: There never was such a key, as far as is known.
        """
        query = params(order="asc" if oldest_first else None, pageSize=page_size)
        async for page in self._http.pages(f"{self._path}/state{segment(key, 'key')}/history", query, limits):
            for change in page.body["changes"]:
                yield KeyChange(change)

    async def _one(self, op: str, key: str, value: Any, how: Change) -> Any:
        return (await self.apply([{"op": op, "key": key, "value": value}], **how))[key]

    async def _get_state(self, key: str | None, default: Any, query: dict[str, str], limits: Limits) -> Any:
        suffix = "" if key is None else segment(key, "key")
        reply = await self._http.send("GET", f"{self._path}/state{suffix}", params=query, **limits)
        if default is not _ABSENT and reply.code == "state_key_not_found":
            self._saw_tag(reply)
            return default
        state = reply.success(dict if key is None else object)
        self._saw_tag(reply)
        return state

    def _saw_tag(self, reply: Reply) -> None:
        """Takes the revision from the entity tag: "R.U.A.I" of a session, "N" of a scope."""
        revision = reply.headers.get("ETag", "").strip('"').partition(".")[0]
        if revision.isdecimal():
            self.revision = int(revision)


class AsyncScope(AsyncState):
    """State of an app, or of a user of an app, without a session. Keys have no prefix here."""

    def __init__(self, http: AsyncHttp, app: str, user: str | None = None) -> None:
        """Sends nothing. See `AsyncClient.app` and `AsyncClient.user`."""
        super().__init__(http, user_path(app, *([] if user is None else [user])))
        self.app = app
        self.user = user

    def __repr__(self) -> str:
        """Shows whose state it is."""
        of = f"{self.app!r}" if self.user is None else f"{self.app!r}, {self.user!r}"
        return f"{type(self).__name__}({of}, revision={self.revision})"

    async def state(self, *, prefix: str | None = None, **limits: Unpack[Limits]) -> dict[str, Any]:
        """Returns the state; of the keys that begin with `prefix`, if it is given."""
        state: dict[str, Any] = await self._get_state(None, _ABSENT, params(prefix=prefix), limits)
        return state

    async def get(self, key: str, default: Any = _ABSENT, **limits: Unpack[Limits]) -> Any:
        """Returns the value of a key. Raises `NotFoundError` if it is absent, unless there is a default."""
        return await self._get_state(text_of(key, "key"), default, {}, limits)

    async def apply(
        self,
        ops: Sequence[Op],
        *,
        when: Sequence[Condition] = (),
        once: str | None = None,
        if_revision: int | None = None,
        **limits: Unpack[Limits],
    ) -> dict[str, Any]:
        """Applies operators in order, all or none.

        Args:
          ops: What to do: `{"op", "key", "value"}`.
          when: What must hold right before.
          once: An id for this change, the same in every run of the program. The scope remembers it for a day at least:
            made again, it changes nothing, and the values are those of now.
          if_revision: Only if this is the present revision of the scope.
          **limits: See `Limits`.

        Returns:
          The values of the keys after it; a removed key is absent.

        Raises:
          StaleError: A precondition does not hold.
          ConflictError: Another change has the id.
          InputError: An operator is unknown, or does not fit the value that is there.
        """
        body: dict[str, Any] = {"stateOps": keyed(ops), **({"preconditions": list(when)} if when else {})}
        headers = {"Idempotency-Key": new_id() if once is None else text_of(once, "id of the change")}
        if if_revision is not None:
            headers["If-Match"] = f'"{if_revision}"'
        before = self.revision
        query = {"answer": "changed"}
        reply = await self._http.send(
            "PATCH", f"{self._path}/state", body=body, params=query, headers=headers, **limits
        )
        state = reply.success()
        self._saw_tag(reply)
        if self.revision != before + 1:
            self.revision = before
        return {op["key"]: state[op["key"]] for op in ops if op["key"] in state}


class AsyncUser(AsyncScope):
    """State and files of a user of an app."""

    def __init__(self, http: AsyncHttp, app: str, user: str) -> None:
        """Sends nothing. See `AsyncClient.user`."""
        super().__init__(http, app, text_of(user, "id of the user"))
        self.artifacts = AsyncArtifacts(http, f"{self._path}/artifacts", {})
        """The files of the user."""
