"""The client that raises errors of ADK."""

from __future__ import annotations

from sessiond import AsyncClient, InputError

from ._errors import SessiondInputError


class Connection(AsyncClient):
    """A client whose errors for what breaks a rule are ADK's, too."""

    _kinds = {InputError: SessiondInputError}  # noqa: RUF012 - the base says that it is of the class.
