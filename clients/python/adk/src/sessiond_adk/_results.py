"""What the service returns beyond ADK's own types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from google.adk.sessions.base_session_service import ListSessionsResponse


@dataclass(frozen=True)
class ForkedFrom:
    """Of which session a fork is."""

    session_id: str
    """The session."""
    revision: int
    """With how many of its events the fork began."""


@dataclass(frozen=True)
class SessionMetadata:
    """What is known of a session beside its state and events."""

    revision: int
    """How many events were appended to it; the number of the last one."""
    create_time: float
    """When it was created, in Unix seconds, by the server's clock."""
    last_update_time: float
    """The timestamp of the last event, in Unix seconds."""
    display_name: str | None
    """A name for people; None if it has none."""
    labels: Mapping[str, str]
    """What lists can be filtered by."""
    expire_time: float | None
    """From when on there is no such session any more, in Unix seconds; None if it never expires."""
    forked_from: ForkedFrom | None
    """None if it is no fork."""


@dataclass(frozen=True)
class MintedToken:
    """A token for one user of one app; its text form does not show it."""

    token: str = field(repr=False)
    """What the user sends as `Authorization: Bearer TOKEN`."""
    expire_time: float
    """When it ends, in Unix seconds."""


class SessionList(ListSessionsResponse):
    """ADK's list of sessions, or a page of it."""

    next_page_token: str | None = None
    """What the next page is asked for with; None if this was the last one."""
