"""`traceparent` and `tracestate`, of the span that the host program is in, if it traces with OpenTelemetry.

What else the program hands on, such as baggage, is not for a store of sessions.
"""

from __future__ import annotations

from collections.abc import Callable

inject: Callable[[dict[str, str]], None]
"""Puts them into headers; nothing if the program does not trace."""

try:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:

    def inject(headers: dict[str, str]) -> None:
        """Puts nothing into headers."""
else:
    inject = TraceContextTextMapPropagator().inject
