"""Services for Google's Agent Development Kit (ADK) that keep sessions, artifacts and memory in sessiond.

In a program, a line changes for each:

    session_service = SessiondSessionService("http://127.0.0.1:8080")
    artifact_service = SessiondArtifactService("http://127.0.0.1:8080")
    memory_service = SessiondMemoryService("http://127.0.0.1:8080")

On ADK's command line, `--session_service_uri=sessiond://127.0.0.1:8080`, and `--artifact_service_uri` and
`--memory_service_uri` with the same URI, do so, once the file `services.py` in the folder that is named there says
`import sessiond_adk`: the import makes the URI known to ADK.

Read on: `service`, `artifacts` and `memory` for what they guarantee, `ops` for counters and lists that many agents
change at once.
"""

from sessiond import AccessError as SessiondAccessError
from sessiond import CaughtUp, Deleted, MetadataChange, SessiondError, StateChange
from sessiond import GoneError as PositionGoneError

from . import ops
from ._errors import SessionBusyError, SessiondInputError
from ._registry import register
from ._results import ForkedFrom, MintedToken, SessionList, SessionMetadata
from ._version import __version__
from ._watch import EventItem, WatchItem
from .artifacts import SessiondArtifactService
from .memory import SessiondMemoryService
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
    "SessiondArtifactService",
    "SessiondError",
    "SessiondInputError",
    "SessiondMemoryService",
    "SessiondSessionService",
    "StateChange",
    "WatchItem",
    "__version__",
    "ops",
]

register()
