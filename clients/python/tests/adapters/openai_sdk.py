"""A plugin of pytest: the tests of the SDK's own store, with `SessiondSession` in its place."""

import os
import uuid
from pathlib import Path
from typing import Any

import agents
import pytest

from sessiond import AsyncClient
from sessiond.openai import SessiondSession

# They look into the database of that store, its threads or its locks.
OF_SQLITE = (
    "connection",
    "corrupt",
    "file_lock",
    "releases_write_lock",
    "rolls_back",
    "post_commit_cancellation",
)

CLIENT = AsyncClient(os.environ["SESSIOND_URL"])


class SQLiteSession(SessiondSession):
    """The file of the database is an app here; the one in memory is a new one."""

    def __init__(self, session_id: str, db_path: str | Path = ":memory:", session_settings: Any = None) -> None:
        app = uuid.uuid4().hex if db_path == ":memory:" else str(db_path)
        super().__init__(session_id, app=app, user="u", client=CLIENT, session_settings=session_settings)


agents.SQLiteSession = SQLiteSession  # type: ignore[misc, assignment]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is about SQLite."""
    out = [item for item in items if any(word in item.name for word in OF_SQLITE)]
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if item not in out]
