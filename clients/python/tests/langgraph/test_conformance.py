"""LangGraph's own suite for savers."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate

from sessiond.langgraph import SessiondSaver

from ..support.process import Server


class Synchronous(SessiondSaver):
    """Does by its synchronous methods what it is asked for by the others."""

    async def aget_tuple(self, *args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(self.get_tuple, *args, **kwargs)

    async def alist(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        for each in await asyncio.to_thread(lambda: [*self.list(*args, **kwargs)]):
            yield each

    async def aput(self, *args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(self.put, *args, **kwargs)

    async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
        await asyncio.to_thread(self.put_writes, *args, **kwargs)

    async def adelete_thread(self, *args: Any) -> None:
        await asyncio.to_thread(self.delete_thread, *args)

    async def acopy_thread(self, *args: Any) -> None:
        await asyncio.to_thread(self.copy_thread, *args)

    async def adelete_for_runs(self, *args: Any) -> None:
        await asyncio.to_thread(self.delete_for_runs, *args)

    async def aprune(self, *args: Any, **kwargs: Any) -> None:
        await asyncio.to_thread(self.prune, *args, **kwargs)


# Each kind of methods on one database: the test of the server holds that databases answer alike.
@pytest.mark.parametrize(
    ("server", "kind"), [("postgres", SessiondSaver), ("sqlite", Synchronous)], indirect=["server"]
)
async def test_it_passes_all(server: Server, kind: type[SessiondSaver]) -> None:
    @checkpointer_test(name=kind.__name__)
    async def fresh() -> AsyncIterator[SessiondSaver]:
        with kind(server.url, app=uuid.uuid4().hex) as saver:
            async with saver:
                yield saver

    report = await validate(fresh)
    assert len(report.results) == 8
    for name, result in report.results.items():
        assert result.detected and result.passed and result.tests_failed == 0, (name, result.failures)
    assert sum(result.tests_passed for result in report.results.values()) == 81
