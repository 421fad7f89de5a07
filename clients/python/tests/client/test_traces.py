"""A program that traces sends its span, and nothing else."""

import pytest

from sessiond import SessiondError

from ..support.proxy import answering
from .both import Connect

trace = pytest.importorskip("opentelemetry.sdk.trace")


async def test_a_program_that_traces_sends_its_span_and_nothing_else(client: Connect) -> None:
    from opentelemetry import baggage, context

    tracer = trace.TracerProvider().get_tracer("test")
    async with answering(*["200\n{}"] * 2, "404\n{}") as server:
        db = client(server.url)
        await db.app("a").state()
        token = context.attach(baggage.set_baggage("secret", "hunter2"))
        with tracer.start_as_current_span("run") as span:
            await db.app("a").state()
            with pytest.raises(SessiondError):
                await anext(aiter(db.session("a", "u", "s").watch()))
        context.detach(token)
    before, *within = server.requests
    assert "traceparent" not in before.lower()
    named = span.get_span_context()
    for request in within:
        assert f"\ntraceparent: 00-{named.trace_id:032x}-{named.span_id:016x}-" in request.lower()
        assert "hunter2" not in request
