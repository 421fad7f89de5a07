"""The synchronous client, asked as the asynchronous one is: so each test is written once, and is of both."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, cast

import sessiond
from sessiond import AsyncClient, Client

Connect = Callable[..., AsyncClient]

_HANDLES = (sessiond.State, sessiond.Artifacts, sessiond.File)
_END = object()


def connect(kind: str, stack: AsyncExitStack) -> Connect:
    def made(*args: Any, **kwargs: Any) -> AsyncClient:
        if kind == "async":
            client = AsyncClient(*args, **kwargs)
        else:
            client = cast(AsyncClient, Awaited(Client(*args, **kwargs)))
        stack.push_async_callback(client.close)
        return client

    return made


class Awaited:
    """A synchronous object whose calls run in threads, and are awaited where those of its asynchronous twin are."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._twin = getattr(sessiond, f"Async{type(inner).__name__}")

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if not inspect.ismethod(value):
            return _shown(value)

        async def threaded(*args: Any, **kwargs: Any) -> Any:
            return _shown(await asyncio.to_thread(value, *args, **kwargs))

        if inspect.iscoroutinefunction(getattr(self._twin, name)):
            return threaded
        return lambda *args, **kwargs: _shown(value(*args, **kwargs))

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value) if name.startswith("_") else setattr(self._inner, name, value)

    def __aiter__(self) -> AsyncIterator[Any]:
        return _iterated(iter(self._inner))


def _shown(value: Any) -> Any:
    if isinstance(value, _HANDLES):
        return Awaited(value)
    if isinstance(value, AbstractContextManager):
        return _entered(value)
    if isinstance(value, Iterator):
        return _iterated(value)
    return value


async def _iterated(items: Iterator[Any]) -> AsyncIterator[Any]:
    try:
        while (item := await asyncio.to_thread(next, items, _END)) is not _END:
            yield item
    finally:
        if inspect.isgenerator(items):
            items.close()


@asynccontextmanager
async def _entered(manager: AbstractContextManager[Any]) -> AsyncIterator[Any]:
    async with _Threaded(manager) as value:
        yield _shown(value)


class _Threaded(AbstractAsyncContextManager[Any]):
    def __init__(self, manager: AbstractContextManager[Any]) -> None:
        self._manager = manager

    async def __aenter__(self) -> Any:
        return await asyncio.to_thread(self._manager.__enter__)

    async def __aexit__(self, *raised: Any) -> bool | None:
        return await asyncio.to_thread(self._manager.__exit__, *raised)
