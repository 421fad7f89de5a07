"""The databases of ADK's own session services, in Python, Go and TypeScript: read as they are, never changed.

Whose a database is, its tables say, and nothing is read from it before that is known. Nothing in it is executed: the
pickled objects of the schema v0 are refused.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from ._exact import Encoder, Fault, Number, encode, read_exactly, read_plain, whole
from ._lines import LAST_SECOND, Refused, StoredEvent, StoredSession, Told, seconds_of_millis

# How many rows are read at a time: names of sessions, and events.
_NAMES = 10_000
_EVENTS_READ = 200

_SCHEMES = ("sqlite", "postgresql", "postgres")

# Columns of the events of ADK for Go which the schema v0 of ADK for Python does not have; older ones have neither.
_GO = {"routes_json", "isolation_scope", "output_json", "node_info_json", "requested_input_json"}

_SESSIONS = {"app_name", "user_id", "id", "state", "create_time", "update_time"}
_EVENTS = {"app_name", "user_id", "session_id", "id", "invocation_id", "timestamp"}

# A column of an event in a database of ADK for Go, and the field that it is.
_GO_FIELDS = {
    "invocation_id": "invocationId",
    "author": "author",
    "branch": "branch",
    "isolation_scope": "isolationScope",
    "turn_complete": "turnComplete",
    "interrupted": "interrupted",
    "error_code": "errorCode",
    "error_message": "errorMessage",
    "content": "content",
    "grounding_metadata": "groundingMetadata",
    "citation_metadata": "citationMetadata",
    "usage_metadata": "usageMetadata",
    "custom_metadata": "customMetadata",
    "long_running_tool_ids_json": "longRunningToolIds",
    "routes_json": "routes",
    "requested_input_json": "requestedInput",
    "output_json": "output",
    "node_info_json": "nodeInfo",
    "actions": "actions",
}
_GO_TEXTS = {"invocation_id", "author", "branch", "isolation_scope", "error_code", "error_message"}
_GO_FLAGS = {"turn_complete", "interrupted"}


# The events of a session.
_OF_SESSION = "app_name = ? and user_id = ? and session_id = ?"

_Reader: TypeAlias = "Callable[[str], tuple[Any, Encoder | None]]"


class Kind(Enum):
    """Whose a database is."""

    PYTHON = "google-adk's DatabaseSessionService"
    SQLITE = "google-adk's SqliteSessionService"
    GO = "ADK for Go"
    TYPESCRIPT = "ADK for TypeScript"


class NotAdk(Exception):
    """The database is none that is read here; the message says what it is, and what to do."""


def is_database(uri: str) -> bool:
    """Whether a URI is that of a database which is read here: of SQLite or PostgreSQL, with any driver of Python."""
    scheme, found, _ = uri.partition("://")
    return bool(found) and scheme.partition("+")[0] in _SCHEMES


class _Connection(Protocol):
    async def rows(self, sql: str, *values: str) -> list[tuple[Any, ...]]: ...
    def pages(self, sql: str, *values: str) -> AsyncIterator[list[tuple[Any, ...]]]: ...
    async def tables(self) -> list[str]: ...
    async def columns(self, table: str) -> dict[str, str]: ...
    async def begin(self) -> None: ...
    async def end(self) -> None: ...
    async def close(self) -> None: ...

    collate: str
    is_sqlite: bool
    of_session: str


class _Sqlite:
    collate = ""
    is_sqlite = True

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, isolation_level=None)
        # What is no UTF-8 is half a character, too, and is told of as one.
        self._db.text_factory = lambda data: data.decode(errors="surrogateescape")
        self._is_of_one_moment = False
        self.of_session = _OF_SESSION

    async def index(self) -> None:
        """Finds the events of each session once, if the database would look at all events for each.

        So it is with those of ADK for Go and TypeScript. From then on, all that is read is of one moment.
        """
        plan = self._db.execute(f"explain query plan select 1 from events where {_OF_SESSION}", ("", "", ""))
        if not any("SCAN" in step[3] for step in plan.fetchall()):
            return
        self._db.execute("begin")
        self._is_of_one_moment = True
        columns = "app_name, user_id, session_id"
        self._db.execute(f"create temp table places as select {columns}, rowid as place from main.events")
        self._db.execute(f"create index temp.places_of on places ({columns}, place)")
        self.of_session = f"rowid in (select place from temp.places where {_OF_SESSION})"

    def _execute(self, sql: str, values: tuple[str, ...]) -> sqlite3.Cursor:
        # Text that is no UTF-8 goes back as it came.
        bound = [text if whole(text) == text else text.encode(errors="surrogateescape") for text in values]
        return self._db.execute(sql, bound)

    async def rows(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        return self._execute(sql, values).fetchall()

    async def pages(self, sql: str, *values: str) -> AsyncIterator[list[tuple[Any, ...]]]:
        cursor = self._execute(sql, values)
        while rows := cursor.fetchmany(_EVENTS_READ):
            yield rows

    async def tables(self) -> list[str]:
        return [
            name for (name,) in await self.rows("select name from sqlite_master where type = 'table' order by name")
        ]

    async def columns(self, table: str) -> dict[str, str]:
        return dict(await self.rows("select name, type from pragma_table_info(?)", table))

    async def begin(self) -> None:
        if not self._is_of_one_moment:
            self._db.execute("begin")

    async def end(self) -> None:
        if not self._is_of_one_moment:
            self._db.execute("commit")

    async def close(self) -> None:
        self._db.close()


class _Postgres:
    collate = ' collate "C"'
    is_sqlite = False
    of_session = _OF_SESSION

    def __init__(self, connection: Any) -> None:
        self._db = connection

    async def rows(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in await self._db.fetch(_numbered(sql), *values)]

    async def pages(self, sql: str, *values: str) -> AsyncIterator[list[tuple[Any, ...]]]:
        cursor = await self._db.cursor(_numbered(sql), *values)
        while rows := await cursor.fetch(_EVENTS_READ):
            yield [tuple(row.values()) for row in rows]

    async def tables(self) -> list[str]:
        sql = "select table_name::text from information_schema.tables where table_schema = any(current_schemas(false))"
        return [name for (name,) in await self.rows(f"{sql} order by 1")]

    async def columns(self, table: str) -> dict[str, str]:
        sql = "select column_name::text, data_type::text from information_schema.columns"
        where = "where table_schema = any(current_schemas(false)) and table_name = ?"
        return dict(await self.rows(f"{sql} {where}", table))

    async def begin(self) -> None:
        await self._db.execute("begin isolation level repeatable read read only")

    async def end(self) -> None:
        await self._db.execute("commit")

    async def close(self) -> None:
        await self._db.close()


def _numbered(sql: str) -> str:
    """Returns a statement with PostgreSQL's parameters."""
    first, *others = sql.split("?")
    return first + "".join(f"${place}{text}" for place, text in enumerate(others, 1))


def _file(uri: str) -> str:
    path = unquote(urlsplit(f"sqlite://{uri.partition('://')[2]}").path)[1:]
    if not Path(path).is_file():
        raise NotAdk(f"there is no file {path!r}")
    return path


async def _connect(uri: str) -> _Connection:
    scheme, _, rest = uri.partition("://")
    if scheme.partition("+")[0] == "sqlite":
        return _Sqlite(_file(uri))
    try:
        import asyncpg  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise NotAdk("PostgreSQL is read with asyncpg, which is not installed: pip install asyncpg") from None
    # SQLAlchemy's name for the parameter.
    url = re.sub(r"([?&])ssl=", r"\1sslmode=", f"postgresql://{rest}")
    return _Postgres(await asyncpg.connect(url))


class Database:
    """A database of sessions that ADK's own services wrote, open for reading.

    Attributes:
      kind: Whose it is.
    """

    def __init__(self, connection: _Connection, kind: Kind, columns: dict[str, str]) -> None:
        """Takes what `open_database` found: also the columns of events, and how each is read."""
        self.kind = kind
        self._db = connection
        self._columns = columns

    async def close(self) -> None:
        """Closes it."""
        await self._db.close()

    async def apps(self) -> list[str]:
        """Returns the names of all apps."""
        sql = "select app_name from sessions union select app_name from app_states"
        return sorted(app for (app,) in await self._db.rows(sql))

    async def sessions(self, app: str) -> AsyncIterator[tuple[str, str]]:
        """Yields users and ids of an app's sessions, by their bytes."""
        order = f"user_id{self._db.collate}, id{self._db.collate}"
        after = f"and ({order}) > (cast(? as text), cast(? as text))"
        last: tuple[str, ...] = ()
        while True:
            sql = f"select user_id, id from sessions where app_name = ? {after if last else ''} order by {order}"
            rows = await self._db.rows(f"{sql} limit {_NAMES}", app, *last)
            for user, id in rows:
                yield user, id
            if len(rows) < _NAMES:
                return
            last = rows[-1]

    async def owners(self, app: str) -> list[str]:
        """Returns the users who have state in an app."""
        rows = await self._db.rows("select user_id from user_states where app_name = ?", app)
        return sorted(user for (user,) in rows)

    async def app_state(self, app: str) -> dict[str, Any]:
        """Returns an app's state."""
        return await self._shared("select cast(state as text) from app_states where app_name = ?", app)

    async def user_state(self, app: str, user: str) -> dict[str, Any]:
        """Returns a user's state."""
        where = "app_name = ? and user_id = ?"
        return await self._shared(f"select cast(state as text) from user_states where {where}", app, user)

    async def _shared(self, sql: str, *names: str) -> dict[str, Any]:
        rows = await self._db.rows(sql, *names)
        return _object(rows[0][0])[0] if rows else {}

    @asynccontextmanager
    async def session(
        self, app: str, user: str, id: str
    ) -> AsyncIterator[tuple[StoredSession, AsyncIterator[list[StoredEvent]]] | None]:
        """Opens a session, and its events in any order; None if it is no more there.

        What is read until it is closed is of one moment. A state or an event that is no object of JSON is empty.
        """
        await self._db.begin()
        try:
            where = "app_name = ? and user_id = ?"
            sql = f"select cast(state as text), create_time, update_time from sessions where {where} and id = ?"
            rows = await self._db.rows(sql, app, user, id)
            if not rows:
                yield None
                return
            (text, created, updated), *_ = rows
            state: dict[str, Any] = {}
            faults: tuple[Fault, ...] = ()
            try:
                state, _ = _object(text)
            except Refused as error:
                faults = tuple(each.fault for each in error.told)
            found = StoredSession(app, user, id, state, self._moment(created), self._moment(updated), faults)
            columns = ", ".join((self._place(), *self._columns.values()))
            sql = f"select {columns} from events where {self._db.of_session}"
            yield found, self._events(self._db.pages(sql, app, user, id))
        finally:
            await self._db.end()

    async def _events(self, pages: AsyncIterator[list[tuple[Any, ...]]]) -> AsyncIterator[list[StoredEvent]]:
        event = self._go if self.kind is Kind.GO else self._json
        names = tuple(self._columns)
        async for rows in pages:
            yield [event(dict(zip(names, row[1:], strict=True)), row[0]) for row in rows]

    def _place(self) -> str:
        """Returns what decides between events of the same time: that one was appended later; or its id, as in ADK."""
        if self.kind is Kind.PYTHON:
            return "0"
        return "rowid" if self._db.is_sqlite else "ctid"

    def _json(self, row: dict[str, Any], place: Any, reader: _Reader = read_plain) -> StoredEvent:
        fields: dict[str, Any] = {}
        as_stored: Encoder | None = encode
        faults: tuple[Fault, ...] = ()
        if (text := row["event_data"]) is not None:
            try:
                fields, as_stored = _object(text, reader)
            except Refused as error:
                faults = tuple(each.fault for each in error.told)
        # What the column says counts.
        fields.pop("invocation_id", None)
        invocation = fields.pop("invocationId", None) if not row["invocation_id"] else row["invocation_id"]
        said = fields.pop("timestamp", None)
        if as_stored is not None and type(said) in (int, float):
            said = Number(as_stored(said))
        time = Decimal(said) if isinstance(said, Number) else Decimal("NaN")
        if not time.is_finite():
            time = self._moment(row["timestamp"])
            said = _number(time)
        # ADK for TypeScript counts milliseconds, in a column of SQLite as an integer.
        elif self.kind is Kind.TYPESCRIPT or type(row["timestamp"]) is int or time > LAST_SECOND:
            said = seconds_of_millis(time)
            time = Decimal(said)
        if invocation:
            fields = {"invocationId": invocation, **fields}
        return StoredEvent(
            row["id"],
            fields,
            said,
            (time, place, row["id"]),
            as_stored,
            partial(self._json, row, place, read_exactly),
            faults,
        )

    def _go(self, row: dict[str, Any], place: Any, reader: _Reader = read_plain) -> StoredEvent:
        fields: dict[str, Any] = {}
        faults = []
        encoders: set[Encoder | None] = set()
        for column, name in _GO_FIELDS.items():
            value = row.get(column)
            if value is None or value in ("", b"", 0):
                continue
            if column in _GO_TEXTS:
                fields[name] = value
            elif column in _GO_FLAGS:
                fields[name] = True
            else:
                text = value.decode(errors="surrogateescape") if isinstance(value, bytes) else value
                try:
                    read_value, encoder = reader(text)
                except ValueError as error:
                    faults.append(Fault(f"/{name}", f"is no JSON: {error}", "nothing"))
                    continue
                encoders.add(encoder)
                if read_value is not None:
                    fields[name] = read_value
        # One that writes all of them.
        as_stored = encode if not encoders else encoders.pop() if len(encoders) == 1 else None
        time = self._moment(row["timestamp"])
        return StoredEvent(
            row["id"],
            fields,
            _number(time),
            (time, place, row["id"]),
            as_stored,
            partial(self._go, row, place, read_exactly),
            tuple(faults),
        )

    def _moment(self, value: Any) -> Decimal:
        """Returns a time of a column, in seconds, with microseconds."""
        if isinstance(value, datetime):
            return _micros(value if value.tzinfo else value.replace(tzinfo=timezone.utc))
        if isinstance(value, str):
            return _written(value)
        number = Decimal(repr(value))
        return number / 1000 if type(value) is int and self.kind is not Kind.SQLITE else number


def _number(seconds: Decimal) -> Number:
    return Number(f"{seconds.normalize():f}")


_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d+))?\s*(?:(Z)|([+-])(\d\d):?(\d\d))?")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _micros(moment: datetime) -> Decimal:
    return Decimal((moment - _EPOCH) // timedelta(microseconds=1)) / 1_000_000


def _written(text: str) -> Decimal:
    """Returns a time as SQLite has it: with the offset of its clock, or else of UTC."""
    match = _TIME.match(text)
    if match is None:
        raise Refused([Told(Fault("", f"a time of the source is none: {text[:40]!r}", ""))])
    day, clock, fraction, _, sign, hours, minutes = match.groups()
    moment = datetime.fromisoformat(f"{day}T{clock}+00:00")
    if sign:
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        moment -= offset if sign == "+" else -offset
    return _micros(moment) + Decimal(f"0.{(fraction or '0')[:6]}")


def _object(text: str, reader: _Reader = read_exactly) -> tuple[dict[str, Any], Encoder | None]:
    """Returns the object of a text, and what writes it again, as its reader does.

    Raises:
      Refused: It is none.
    """
    try:
        value, as_stored = reader(text)
    except ValueError as error:
        raise Refused([Told(Fault("", f"is no JSON: {error}", "an empty object"))]) from None
    if not isinstance(value, dict):
        raise Refused([Told(Fault("", "is no object of JSON", "an empty object"))])
    return value, as_stored


async def open_database(uri: str) -> Database:
    """Opens the database of a URI, and finds out whose it is.

    Raises:
      NotAdk: It is none of ADK's, or of a schema that is not read.
    """
    connection = await _connect(uri)
    try:
        kind = await _kind(connection)
        there = await connection.columns("events")
        if isinstance(connection, _Sqlite):
            await connection.index()
    except BaseException:
        await connection.close()
        raise
    columns = {"id": "id", "timestamp": "timestamp", "invocation_id": "invocation_id"}
    if kind is Kind.GO:
        columns |= {name: name for name in _GO_FIELDS if name in there}
    else:
        columns["event_data"] = "cast(event_data as text)"
    return Database(connection, kind, columns)


async def _kind(db: _Connection) -> Kind:
    tables = await db.tables()
    sessions, events = await db.columns("sessions"), await db.columns("events")
    shown = ", ".join(tables[:8]) + (", …" if len(tables) > 8 else "") if tables else "none"
    if not sessions.keys() >= _SESSIONS or not events.keys() >= _EVENTS:
        raise NotAdk(f"no session service of ADK made this database: its tables are {shown}")
    when = events["timestamp"]
    if "event_data" in events:
        if "adk_internal_metadata" in tables:
            versions = await db.rows("select value from adk_internal_metadata where key = ?", "schema_version")
            if versions and versions[0][0] != "1":
                raise NotAdk(f"its schema is version {versions[0][0]}, and this importer reads 1")
        elif when.upper() != "REAL":
            # The first databases of the schema v1 lack the table; ADK for TypeScript has always made it.
            return Kind.PYTHON
        if when.upper() == "REAL":
            return Kind.SQLITE
        # MikroORM writes its types so, SQLAlchemy `DATETIME` and `TEXT`.
        of_typescript = "datetime" if db.is_sqlite else "timestamp with time zone"
        return Kind.TYPESCRIPT if when == of_typescript else Kind.PYTHON
    if "actions" in events:
        if events.keys() & _GO:
            return Kind.GO
        written = await db.rows("select actions from events where actions is not null limit 1")
        if written and bytes(written[0][0])[:1] == b"{":
            return Kind.GO
        raise NotAdk(
            "its schema is v0 of google-adk, with pickled actions, which are never read here: convert it with "
            "`adk migrate session --source_db_url=FROM --dest_db_url=TO`, then import TO"
        )
    raise NotAdk(f"no session service of ADK made this database: its tables are {shown}")
