"""How long is waited for what, in seconds; and how often."""

from __future__ import annotations

from typing import TypedDict


class Limits(TypedDict, total=False):
    """For one call, in the place of what the client was made with."""

    timeout: float
    """Seconds that one attempt may take."""
    retry_for: float
    """Seconds in which it is tried again; 0 tries once."""


# Before each further attempt of a request, spread by jitter: a lost answer is soon made up for, and a server has the
# time to start again.
PAUSES = (0.2, 0.8, 3.2, 8.0)

# Before all that follow, until the time is used up.
LATER = 8.0

# For a connection to come about, at most.
CONNECT = 2.0

# Without a byte of a stream, after which its connection is taken for dead: three of the heartbeats (15 s) that sessiond
# sends.
SILENCE = 45.0

# Before the first attempt of a watch to come back; doubled for each further one, up to the second number.
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0

# For which one request waits for a lease, so that a wait survives what closes idle connections.
ONE_WAIT = 30

# Before the next attempt to get a lease, if the server ended a wait early.
EARLY = 0.2, 0.5
