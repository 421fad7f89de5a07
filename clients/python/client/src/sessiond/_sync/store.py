# Made by make_sync.py, of _async/store.py.
"""Items of LangGraph's stores, in the sessions of the roots of their namespaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .. import _store
from .._errors import NotFoundError
from .._frameworks import batches
from .._store import Changes, Name, Stored, Wanted
from .client import Client
from .session import Session


class Items:
    """The items of an app."""

    def __init__(self, client: Client, app: str, user: str | Callable[[str], str]) -> None:
        """Sends nothing. `user` is that of the sessions, or a function of the root."""
        self._client = client
        self._app = app
        self._user = user

    def read(self, wanted: Mapping[str | None, Wanted]) -> dict[Name, Stored]:
        """Returns at least the items that are wanted of each root, by one request each; None is for all of all."""
        items: dict[Name, Stored] = {}
        if None in wanted:
            for each, state in self._all():
                items.update(_store.items_in(each, state))
            return items
        for root, what in wanted.items():
            assert root is not None
            try:
                items.update(_store.items_in(root, self._session(root).state(**what.query())))
            except NotFoundError as error:
                if error.code != "session_not_found":
                    raise
        return items

    def write(self, changes: Changes) -> None:
        """Puts items, and deletes those of which None is given: all of a root that fit into a request, or none."""
        events: dict[str, list[dict[str, Any]]] = {}
        for name, value in changes.items():
            events.setdefault(_store.root_of(name[0]), []).append(_store.event_of(name, value))
        for root, of_root in events.items():
            for batch in batches(of_root, lambda event: event):
                self._session(root).append(batch, create=True, answer="minimal")

    def _session(self, root: str) -> Session:
        return self._client.session(self._app, self._user_of(root), _store.SESSIONS + _store.escaped(root))

    def _user_of(self, root: str) -> str:
        return self._user if isinstance(self._user, str) else self._user(root)

    def _all(self) -> Iterator[tuple[str, dict[str, Any]]]:
        user = self._user if isinstance(self._user, str) else None
        for each in self._client.sessions(self._app, user, id_prefix=_store.SESSIONS, include_state=True):
            root = _store.unescaped(each.id[len(_store.SESSIONS) :])
            if each.user == self._user_of(root):
                yield root, each.state
