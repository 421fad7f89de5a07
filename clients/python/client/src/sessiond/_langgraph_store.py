"""LangGraph's long-term memory in sessiond: see `sessiond.langgraph`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from types import TracebackType
from typing import TYPE_CHECKING, Any

from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp

from . import _store
from ._async.client import AsyncClient
from ._async.store import AsyncItems
from ._store import Changes, Name, Stored, Wanted
from ._sync.client import Client
from ._sync.store import Items

if TYPE_CHECKING:
    from typing_extensions import Self


class SessiondStore(BaseStore):
    """Keeps what LangGraph's agents remember across threads. Its methods are synchronous; with an `a` before, not.

    The items below the first label of a namespace are state of one session. What a call has stored is on disk when it
    returns, and every process reads it from then on. After a lost answer nothing is stored twice. It may be used by
    several event loops and threads. Errors are those of `sessiond`.

    `batch` reads before it writes, and asks once for each first label, whatever the number of operations; what it
    writes below one is stored all or none, as far as it fits into one request of 4 MiB and 500 items. `search` returns
    what was put last first. There are no vectors: as without an index in LangGraph's own stores, `index` and `query`
    have no effect. An item never expires: a `ttl` is refused with NotImplementedError.

    A label and a key have at most some 240 and 500 bytes, and each of the others adds to those of the key.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        app: str,
        user: str | Callable[[str], str] = "langgraph",
        **connection: Any,
    ) -> None:
        """Opens no connection yet.

        Args:
          url: Where sessiond is, see `sessiond.Client`.
          app: The app of the sessions.
          user: The user of the sessions; or a function of the first label of a namespace. With one, what lies below no
            first label, `search(())` say, reads what all users of the app have.
          **connection: `token`, `headers`, `timeout`, `retry_for`, `ssl_context`, as of `sessiond.Client`.
        """
        self._client = Client(url, **connection)
        self._aclient = AsyncClient(url, **connection)
        self._items = Items(self._client, app, user)
        self._aitems = AsyncItems(self._aclient, app, user)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Executes operations, and returns what each of them is answered."""
        asked = _Batch(ops)
        results = asked.results(self._items.read(asked.wanted))
        self._items.write(asked.changes)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Executes operations, see `batch`."""
        asked = _Batch(ops)
        results = asked.results(await self._aitems.read(asked.wanted))
        await self._aitems.write(asked.changes)
        return results

    def close(self) -> None:
        """Closes the connections of the synchronous methods. The store can be used again."""
        self._client.close()

    async def aclose(self) -> None:
        """Closes the connections of the asynchronous methods in the running event loop."""
        await self._aclient.close()

    def __enter__(self) -> Self:
        """Returns the store."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connections."""
        self.close()

    async def __aenter__(self) -> Self:
        """Returns the store."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connections."""
        await self.aclose()


class _Batch:
    """What operations read and change, and what they are answered."""

    def __init__(self, ops: Iterable[Op]) -> None:
        self._ops = list(ops)
        self.wanted: dict[str | None, Wanted] = {}
        self.changes: Changes = {}
        changes = {}
        for op in self._ops:
            match op:
                case GetOp(namespace=namespace, key=key):
                    self._of(_store.root_of(namespace)).names.add((tuple(namespace), key))
                case SearchOp(namespace_prefix=below):
                    self._of(below[0] if below else None).prefixes.add(_store.prefix(below[1:]))
                case ListNamespacesOp(match_conditions=conditions):
                    self._of(_store.one_root(conditions or ())).prefixes.add(_store.prefix(()))
                case PutOp(namespace=namespace, key=key, value=value):
                    if op.ttl is not None:
                        raise NotImplementedError("An item of sessiond does not expire: put it without a `ttl`.")
                    _store.root_of(namespace)
                    changes[tuple(namespace), key] = value
                case _:
                    raise ValueError(f"There is no operation {type(op).__name__}.")
        self.changes = changes

    def _of(self, root: str | None) -> Wanted:
        return self.wanted.setdefault(root, Wanted())

    def results(self, items: dict[Name, Stored]) -> list[Result]:
        """Returns what each operation is answered, from the items that it reads."""
        return [self._result(op, items) for op in self._ops]

    def _result(self, op: Op, items: dict[Name, Stored]) -> Result:
        match op:
            case GetOp(namespace=namespace, key=key):
                there = items.get((tuple(namespace), key))
                return there and Item(**_fields(there))
            case SearchOp(namespace_prefix=below, filter=filter, limit=limit, offset=offset):
                found = _store.found(items, below, filter)
                return [SearchItem(**_fields(each)) for each in found[offset : offset + limit]]
            case ListNamespacesOp(match_conditions=conditions, max_depth=depth, limit=limit, offset=offset):
                return _store.namespaces(items, conditions or (), depth)[offset : offset + limit]
            case _:
                return None


def _fields(item: Stored) -> dict[str, Any]:
    created, updated = (datetime.fromtimestamp(each, timezone.utc) for each in (item.created, item.updated))
    namespace, key = item.name
    return {"namespace": namespace, "key": key, "value": item.value, "created_at": created, "updated_at": updated}
