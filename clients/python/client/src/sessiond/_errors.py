"""What is raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class SessiondError(Exception):
    """sessiond refused a request, or could not be reached for as long as the client keeps trying."""

    def __init__(self, message: str, *, status: int | None = None, problem: Mapping[str, Any] | None = None) -> None:
        """Takes the HTTP status and the body of the answer; None if there was no answer, or not one of sessiond."""
        super().__init__(message)
        self.status = status
        """The HTTP status."""
        self.problem: Mapping[str, Any] = problem or {}
        """All that the answer says, such as the `errors` of an `InputError`: each has a `field` and a `message`."""
        self.code: str | None = _text(self.problem.get("code"))
        """sessiond's stable word for the error."""
        self.outcome: str | None = _text(self.problem.get("outcome"))
        """`not_applied`, or `unknown` if a write may have happened. The same write with the same id is safe then."""
        self.request_id: str | None = _text(self.problem.get("requestId"))
        """What to look for in the server's log."""


class NotFoundError(SessiondError):
    """There is no such session, event, key of state, file or version (status 404).

    A path that the server does not know is a plain `SessiondError`: a wrong URL must not pass for an empty session.
    """


class StaleError(SessiondError):
    """Somebody was faster, and nothing was written.

    A revision or a precondition does not hold any more (status 412), or another turn has superseded this one (409,
    `code` is `fenced`).
    """

    @property
    def revision(self) -> int | None:
        """The present revision; None if the turn was superseded."""
        return self.problem.get("revision")


class ConflictError(SessiondError):
    """What is to be made is there already, and is another one (status 409); it is left as it is.

    A session or a version of a file of that name (`session_already_exists`, `artifact_version_exists`), another event
    of that id (`event_id_conflict`), or as many as a policy allows (`limit_reached`). Or the policy of the app has no
    index to be searched (`search_off`).
    """


class BusyError(SessiondError):
    """Another turn has the session (status 409, `lease_held`)."""

    @property
    def owner(self) -> str | None:
        """What names who has it."""
        return self.problem.get("owner")

    @property
    def expire_time(self) -> float | None:
        """When others may take it over, in Unix seconds, if its holder is silent until then."""
        return self.problem.get("expireTime")


class GoneError(SessiondError):
    """What was there is not any more (status 410): a position of a watch, trimmed events, or an erased user."""

    @property
    def revision(self) -> int | None:
        """The number of the last event that there is now."""
        return self.problem.get("revision")

    @property
    def base_revision(self) -> int | None:
        """The number of the last event that was trimmed; 0 if none was."""
        return self.problem.get("baseRevision")


class InputError(SessiondError, ValueError):
    """What was sent breaks a rule of sessiond: sending it again would not help.

    That is status 400, 406, 413, 414, 415, 416 or 422; without a status, it was refused before it was sent.
    """


class AccessError(SessiondError):
    """The credential is missing or was refused (status 401), does not allow the request (403), or there is none.

    The last is when the callback for the token failed: then there is no status, and the failure is the `__cause__`.
    """


Kinds = Mapping[type[SessiondError], type[SessiondError]]
"""Classes to raise in the place of these."""

_OF_STATUS: Mapping[int | None, type[SessiondError]] = {
    **dict.fromkeys((400, 406, 413, 414, 415, 416, 422), InputError),
    **dict.fromkeys((401, 403), AccessError),
}
# The others only if sessiond says so, and not just any server on the way.
_OF_CODE: Mapping[tuple[int | None, str | None], type[SessiondError]] = {
    **{(404, f"{what}_not_found"): NotFoundError for what in ("session", "event", "state_key", "artifact")},
    (409, "fenced"): StaleError,
    (409, "lease_held"): BusyError,
}
_OF_ANY_CODE: Mapping[int | None, type[SessiondError]] = {409: ConflictError, 410: GoneError, 412: StaleError}


def error_of(message: str, status: int | None, body: Any, kinds: Kinds) -> SessiondError:
    """Returns the error for an answer."""
    problem = body if isinstance(body, dict) else {}
    code = _text(problem.get("code"))
    kind = _OF_STATUS.get(status) or _OF_CODE.get((status, code)) or SessiondError
    if kind is SessiondError and code is not None:
        kind = _OF_ANY_CODE.get(status, kind)
    return kinds.get(kind, kind)(message, status=status, problem=problem)


def refusal(message: str, kinds: Kinds) -> SessiondError:
    """Returns the error for what is not sent, as it breaks a rule."""
    problem = {"code": "invalid_argument", "outcome": "not_applied"}
    return kinds.get(InputError, InputError)(message, problem=problem)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
