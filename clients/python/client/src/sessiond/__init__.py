"""A client of sessiond, which keeps the sessions of AI agents: synchronous (`Client`), or with await (`AsyncClient`).

    from sessiond import Client, text

    db = Client("http://127.0.0.1:8080")
    s = db.session("cafe", "ada", "s1")
    s.create(exist_ok=True)
    s.append(author="user", content=text("user", "A green tea"), delta={"step": 1})

Read on: `Client` for addresses, credentials and retries, `Session` for what a session can do. What they answer are
dictionaries as the server sent them, with attributes for its fields.
"""

from ._async.artifacts import AsyncArtifacts, AsyncFile
from ._async.client import AsyncClient
from ._async.session import AsyncSession, AsyncTurn
from ._async.state import AsyncScope, AsyncState, AsyncUser
from ._conversation import Attachment, Call, Message, conversation
from ._errors import (
    AccessError,
    BusyError,
    ConflictError,
    GoneError,
    InputError,
    NotFoundError,
    SessiondError,
    StaleError,
)
from ._events import Change, Condition, EventFields, Op, absent, equals, exists, text, unchanged
from ._json import Number
from ._records import (
    CaughtUp,
    Deleted,
    Event,
    Hit,
    Hits,
    KeyChange,
    MetadataChange,
    Redacted,
    Snapshot,
    StateChange,
    Token,
    Trimmed,
    Version,
    WatchItem,
)
from ._sync.artifacts import Artifacts, File
from ._sync.client import Client
from ._sync.session import Session, Turn
from ._sync.state import Scope, State, User
from ._times import Limits
from ._version import __version__

__all__ = [
    "AccessError",
    "Artifacts",
    "AsyncArtifacts",
    "AsyncClient",
    "AsyncFile",
    "AsyncScope",
    "AsyncSession",
    "AsyncState",
    "AsyncTurn",
    "AsyncUser",
    "Attachment",
    "BusyError",
    "Call",
    "CaughtUp",
    "Change",
    "Client",
    "Condition",
    "ConflictError",
    "Deleted",
    "Event",
    "EventFields",
    "File",
    "GoneError",
    "Hit",
    "Hits",
    "InputError",
    "KeyChange",
    "Limits",
    "Message",
    "MetadataChange",
    "NotFoundError",
    "Number",
    "Op",
    "Redacted",
    "Scope",
    "Session",
    "SessiondError",
    "Snapshot",
    "StaleError",
    "State",
    "StateChange",
    "Token",
    "Trimmed",
    "Turn",
    "User",
    "Version",
    "WatchItem",
    "__version__",
    "absent",
    "conversation",
    "equals",
    "exists",
    "text",
    "unchanged",
]
