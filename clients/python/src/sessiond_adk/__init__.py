"""A session service for Google's Agent Development Kit (ADK) that keeps sessions in sessiond.

In a program, one line changes:

    session_service = SessiondSessionService("http://127.0.0.1:8080")

On ADK's command line, `--session_service_uri=sessiond://127.0.0.1:8080` does the same, once the file `services.py` in
the folder that is named there says `import sessiond_adk`: the import makes the URI known to ADK.

Read on: `service` for what it guarantees, `ops` for counters and lists that many agents change at once.
"""

from . import ops
from ._http import PositionGoneError, SessionBusyError, SessiondAccessError, SessiondError, SessiondInputError
from ._registry import register
from ._results import ForkedFrom, MintedToken, SessionList, SessionMetadata
from ._version import __version__
from ._watch import CaughtUp, Deleted, EventItem, MetadataChange, StateChange, WatchItem
from .service import SessiondSessionService

__all__ = [
    "CaughtUp",
    "Deleted",
    "EventItem",
    "ForkedFrom",
    "MetadataChange",
    "MintedToken",
    "PositionGoneError",
    "SessionBusyError",
    "SessionList",
    "SessionMetadata",
    "SessiondAccessError",
    "SessiondError",
    "SessiondInputError",
    "SessiondSessionService",
    "StateChange",
    "WatchItem",
    "__version__",
    "ops",
]

register()
