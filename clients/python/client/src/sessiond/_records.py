"""What sessiond answers: dictionaries as they came, with attributes for its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


class Field(Generic[T]):
    """An attribute of a record: the field of this name, or the default of one that may be absent."""

    def __init__(self, name: str, *default: T) -> None:
        """Takes the name in JSON."""
        self._name = name
        self._default = default

    @overload
    def __get__(self, record: None, kind: type) -> Self: ...
    @overload
    def __get__(self, record: dict[str, Any], kind: type) -> T: ...
    def __get__(self, record: dict[str, Any] | None, kind: type) -> Self | T:
        """Returns the field. Raises AttributeError if there must be one, and is none."""
        if record is None:
            return self
        try:
            return cast(T, record[self._name])
        except KeyError:
            if self._default:
                return self._default[0]
        raise AttributeError(f"The answer has no `{self._name}`.")


class Record(dict[str, Any]):
    """A JSON object that sessiond answered. What was read can be sent back, and is the same."""


class Event(Record):
    """An event of a session."""

    id = Field[str]("id")
    sequence = Field[int]("sequence")
    """Its number in the session, from 1 on."""
    timestamp = Field[float]("timestamp")
    """When it was made, in Unix seconds, by the clock of who made it."""
    commit_time = Field[float]("commitTime")
    """When it was stored, in Unix seconds, by the server's clock."""
    author = Field[str]("author", "")
    """Who said it: `user`, or the name of an agent."""
    invocation_id = Field[str]("invocationId", "")
    """The turn that it is part of."""
    branch = Field[str | None]("branch", None)
    content = Field[Any]("content", None)
    """What was said, as a rule `{"role", "parts"}`; see `text`."""
    actions = Field[Mapping[str, Any]]("actions", {})
    """What it did; see `delta`."""
    metadata = Field[Any]("customMetadata", None)
    """Data of the one who wrote it."""
    redacted = Field[Mapping[str, Any] | None]("redacted", None)
    """When and why its content was removed."""

    replayed: bool = False
    """Whether the session had it before it was appended; nothing was changed then."""
    _cursor: str | None = None

    @property
    def text(self) -> str:
        """The text of the parts of its content, without what a model thought."""
        parts = self.content.get("parts") if isinstance(self.content, dict) else None
        parts = parts if isinstance(parts, list) else []
        said = [part for part in parts if isinstance(part, dict) and not part.get("thought")]
        return "".join(part["text"] for part in said if isinstance(part.get("text"), str))

    @property
    def delta(self) -> Mapping[str, Any]:
        """The state that it set, also by operators: keys with their prefix."""
        return (self.actions or {}).get("stateDelta") or {}

    @property
    def cursor(self) -> str:
        """Its place in the log: a watch with `after=cursor` goes on behind it."""
        return self._cursor or str(self.sequence)


class Snapshot(Record):
    """A session as of one moment."""

    id = Field[str]("id")
    app = Field[str]("appName")
    user = Field[str]("userId")
    revision = Field[int]("revision")
    """How many events were appended to it: the number of the last one."""
    state = Field[dict[str, Any]]("state")
    """The merged state: keys of app and user state with `app:` and `user:`. In lists only with `include_state`."""
    events = Field[list[Event]]("events")
    """In the order of their numbers. None are in lists."""
    create_time = Field[float]("createTime")
    """In Unix seconds, by the server's clock."""
    last_update_time = Field[float]("lastUpdateTime")
    """The timestamp of the last event."""
    display_name = Field[str | None]("displayName", None)
    labels = Field[Mapping[str, str]]("labels", {})
    expire_time = Field[float | None]("expireTime", None)
    """From when on there is no such session, in Unix seconds; None if it never expires."""
    forked_from = Field[Mapping[str, Any] | None]("forkedFrom", None)
    """Of a fork: the `sessionId` of its source, and with how many events (`revision`) it began."""
    base_revision = Field[int]("baseRevision", 0)
    """How many of its first events were trimmed."""

    incarnation: str = ""
    """A mark of this session: one that is deleted and made anew has another. Empty in lists."""


class Hit(Record):
    """An event that a search has found."""

    session_id = Field[str]("sessionId")
    """The session that it is in."""
    display_name = Field[str | None]("displayName", None)
    """That of the session."""
    score = Field[float]("score")
    """The larger, the better: it counts the words that the event has, rare ones more."""
    event = Field[Event]("event")


class Hits(Record):
    """What a search has found."""

    hits = Field[list[Hit]]("hits")
    """The best first."""
    complete = Field[bool]("complete")
    """Whether all was looked at: what was said before the index was switched on is taken in by and by, and of very many
    events only those with the rarest words are looked at."""


class KeyChange(Record):
    """A change of a key of state."""

    revision = Field[int]("revision")
    """The number of the event, or of an `app:` or `user:` key the revision of that state."""
    time = Field[float]("time")
    """When it was stored, in Unix seconds, by the server's clock."""
    value = Field[Any]("value", None)
    """What the key had from then on; see `removed`."""
    removed = Field[bool]("removed", False)
    """Whether the key was removed."""
    base = Field[bool]("base", False)
    """Whether this is what the key had where its known past begins: at the creation, or after a trim or a policy."""
    by = Field[Mapping[str, Any] | None]("by", None)
    """The event that made it: `userId`, `sessionId`, `eventId`, `sequence`, `author`, maybe `invocationId`. None if no
    event did, or it is not to be told."""


class Version(Record):
    """A version of a file."""

    name = Field[str]("name")
    version = Field[int]("version")
    """Its number, from 0 on."""
    kind = Field[str]("kind")
    """`bytes`, `text` or `uri`."""
    content_type = Field[str | None]("mimeType", None)
    size = Field[int | None]("size", None)
    """In bytes."""
    sha256 = Field[str | None]("sha256", None)
    """In hex."""
    create_time = Field[float]("createTime")
    """In Unix seconds, by the server's clock."""
    metadata = Field[Any]("metadata", None)
    display_name = Field[str | None]("displayName", None)
    uri = Field[str | None]("fileUri", None)
    """Where it is, if it is not here."""


class Token(Record):
    """A token for one user of one app; its text form does not show it."""

    token = Field[str]("token")
    """What that user sends as `Authorization: Bearer TOKEN`."""
    expire_time = Field[float]("expireTime")
    """When it ends, in Unix seconds."""

    def __repr__(self) -> str:
        """Shows when it ends."""
        return f"Token(expire_time={self.expire_time})"


@dataclass(frozen=True, kw_only=True)
class _Item:
    cursor: str
    """The place in the log: a watch with `after=cursor` goes on behind what was yielded so far."""


@dataclass(frozen=True, kw_only=True)
class CaughtUp(_Item):
    """All that was stored when the connection was made has been yielded; what follows is new.

    It comes again after each reconnect, and after a burst of more than a page.
    """

    revision: int
    """The number of the last event."""


@dataclass(frozen=True, kw_only=True)
class StateChange(_Item):
    """The merged state, just before `CaughtUp`, and then changes of app and user state; only with `include_state`.

    The state of the session itself changes with its events: the `delta` of each is to be applied.
    """

    state: dict[str, Any] | None = None
    """The whole merged state, in place of what was known; None if this is a change."""
    set: dict[str, Any] = field(default_factory=dict)
    """What has changed, keys with their prefix."""
    removed: tuple[str, ...] = ()
    """The keys that are gone, with their prefix."""
    revisions: str
    """The revisions of session, user state and app state, and the session's incarnation, as in the ETag."""


@dataclass(frozen=True, kw_only=True)
class MetadataChange(_Item):
    """The metadata of the session: once before `CaughtUp`, then when it has changed."""

    display_name: str | None
    labels: dict[str, str]
    expire_time: float | None
    """When the session expires, in Unix seconds; None if never."""


@dataclass(frozen=True, kw_only=True)
class Redacted(_Item):
    """The content of an earlier event was removed."""

    event: Event
    """The event as it is now."""


@dataclass(frozen=True, kw_only=True)
class Trimmed(_Item):
    """The first events of the session were removed; the log begins behind them."""

    base_revision: int
    """The number of the last one that is gone."""


@dataclass(frozen=True, kw_only=True)
class Deleted(_Item):
    """The session is gone, or was deleted and made anew. Nothing follows."""

    reason: str
    """`deleted`, `expired`, `retention` or `erased`; other words may come."""


WatchItem = Event | CaughtUp | StateChange | MetadataChange | Redacted | Trimmed | Deleted
"""What a watch yields; each has a `cursor`."""


def hits(said: dict[str, Any]) -> Hits:
    """Returns what a search has found."""
    found = [Hit({**each, "event": Event(each["event"])}) for each in said["hits"]]
    return Hits({**said, "hits": found})


def snapshot(said: dict[str, Any], etag: str = "") -> Snapshot:
    """Returns a session, and its events as such."""
    stored = Snapshot(said)
    if "events" in said:
        stored["events"] = [Event(event) for event in said["events"]]
    stored.incarnation = incarnation(etag)
    return stored


def incarnation(etag: str) -> str:
    """Returns the mark of a session from its entity tag, which is "R.U.A.I" or "R.U.A.I-M"."""
    return etag.strip('"').rpartition(".")[2].partition("-")[0]


FRAMES = frozenset({"event", "caught_up", "state", "metadata", "redacted", "trimmed", "deleted"})
"""The frames of a watch that this version knows, but for `bye`."""


def item(name: str, said: dict[str, Any], cursor: str) -> WatchItem:
    """Returns what one of these frames says."""
    match name:
        case "event":
            event = Event(said)
            event._cursor = cursor
            return event
        case "caught_up":
            return CaughtUp(cursor=cursor, revision=said["revision"])
        case "state":
            return StateChange(
                cursor=cursor,
                state=said.get("state"),
                set=said.get("set") or {},
                removed=tuple(said.get("removed") or ()),
                revisions=said["revisions"],
            )
        case "metadata":
            return MetadataChange(
                cursor=cursor,
                display_name=said["displayName"],
                labels=said["labels"],
                expire_time=said["expireTime"],
            )
        case "redacted":
            return Redacted(cursor=cursor, event=Event(said))
        case "trimmed":
            return Trimmed(cursor=cursor, base_revision=said["baseRevision"])
        case _:
            return Deleted(cursor=cursor, reason=said["reason"])
