"""Errors that are those of the client, and ADK's, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from google.adk.errors import InvocationNotFoundError, StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.input_validation_error import InputValidationError
from google.adk.errors.session_not_found_error import SessionNotFoundError

from sessiond import BusyError, ConflictError, InputError, NotFoundError, StaleError
from sessiond._paths import fault_of, trimmed


class SessiondInputError(InputError, InputValidationError):
    """What was sent breaks a rule of sessiond: sending it again would not help.

    It is ADK's `InputValidationError`, and a `ValueError`, too.
    """


class SessionBusyError(BusyError, StaleSessionError):
    """Another turn has the session (status 409): only in the mode `lease`, or if that one excludes all other writers.

    It is a `StaleSessionError`, too: what the session object shows is about to be superseded.
    """


def busy(owner: str | None, expire_time: float | None) -> SessionBusyError:
    """Returns the error for a session that this holder has."""
    problem = {"code": "lease_held", "outcome": "not_applied", "owner": owner, "expireTime": expire_time}
    message = f"Another turn has the session{f', of {owner}' if owner else ''}."
    return SessionBusyError(message, status=409, problem=problem)


_NAMES = {
    "app_name": "name of the app",
    "user_id": "id of the user",
    "session_id": "id of the session",
    "filename": "name of the file",
}


def check_names(*, may_be_blank: bool = False, **names: object) -> None:
    """Raises SessiondInputError for what is no name. The id of a session is trimmed, and may be blank if it says so."""
    for argument, name in names.items():
        if argument == "session_id" and isinstance(name, str):
            name = trimmed(name)
            if not name and may_be_blank:
                continue
        if fault := fault_of(name):
            problem = {"code": "invalid_argument", "outcome": "not_applied"}
            raise SessiondInputError(f"The {_NAMES[argument]} {fault}.", problem=problem)


@contextmanager
def of_adk(session_id: str, *, made: str = "") -> Iterator[None]:
    """Raises ADK's error, if it has one, for what is raised about a session; `made` is the id of one that is made."""
    try:
        yield
    except NotFoundError as error:
        if error.code == "session_not_found":
            raise SessionNotFoundError(f"Session {session_id} not found.") from error
        if error.code == "event_not_found":
            raise InvocationNotFoundError(f"Session {session_id} has no event of this invocation.") from error
        raise
    except ConflictError as error:
        if error.code == "session_already_exists":
            raise AlreadyExistsError(f"Session with id {made} already exists.") from error
        if error.code == "event_id_conflict":
            raise AlreadyExistsError(f"Session {session_id} has another event with this id.") from error
        raise
    except StaleError as error:
        if error.code == "fenced":
            raise
        if "errors" in error.problem:
            raise StaleSessionError(f"Session {session_id}: {error.problem.get('detail')}.") from error
        raise StaleSessionError(
            f"Session {session_id} has been modified in storage since it was loaded; load it again."
        ) from error
    except BusyError as error:
        raise busy(error.owner, error.expire_time) from error
