"""LangGraph's checkpoints in sessiond: a thread is a session. And its store, of what agents remember across threads.

    from sessiond.langgraph import SessiondSaver, SessiondStore

    url = "http://127.0.0.1:8080"
    graph = builder.compile(checkpointer=SessiondSaver(url, app="cafe"), store=SessiondStore(url, app="cafe"))
    graph.invoke({"messages": [...]}, {"configurable": {"thread_id": "s1"}})

It needs the extra `sessiond-client[langgraph]`.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from types import EllipsisType, TracebackType
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

try:
    from langgraph.checkpoint.base import (
        WRITES_IDX_MAP,
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        get_checkpoint_metadata,
    )
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    from ._langgraph_store import SessiondStore
except ImportError as error:
    raise ImportError("sessiond.langgraph needs LangGraph: install `sessiond-client[langgraph]`.") from error

from . import _langgraph as lg
from ._async.client import AsyncClient
from ._async.langgraph import AsyncThread
from ._async.others import said_since as asaid_since
from ._langgraph_others import messages_of
from ._paths import whole_id
from ._sync.client import Client
from ._sync.langgraph import Thread
from ._sync.others import said_since

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import DeltaChannelHistory
    from langgraph.checkpoint.serde.base import SerializerProtocol
    from typing_extensions import Self

    from ._others import Said

__all__ = ["SessiondSaver", "SessiondStore"]

# The saver has a method of that name.
_List = list


class SessiondSaver(BaseCheckpointSaver[str]):
    """Keeps LangGraph's checkpoints in sessiond. Its methods are synchronous; with an `a` before, asynchronous.

    What a call has stored is on disk when it returns, and every process reads it from then on. After a lost answer
    nothing is stored twice. It may be used by several event loops and threads. Errors are those of `sessiond`.

    A thread is the session of its id: of up to 256 bytes, without control characters, and without white space at its
    ends, which sessiond would take off. The session may have other
    events and other keys than LangGraph's, which begin with `lg/`.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        app: str,
        user: str | Callable[[RunnableConfig], str] = "langgraph",
        serde: SerializerProtocol | None = None,
        messages: str | EllipsisType | None = ...,
        **connection: Any,
    ) -> None:
        """Opens no connection yet.

        Args:
          url: Where sessiond is, see `sessiond.Client`.
          app: The app of the sessions.
          user: The user of the sessions; or a function of a config, which must know the user by the `thread_id` alone
            for `delete_thread`, `copy_thread` and `prune`.
          serde: LangGraph's serializer. By default `JsonPlusSerializer(allowed_msgpack_modules=None)`: of classes that
            LangGraph does not call safe, such as your own, it returns the fields. Name those that are to come back as
            they were: `JsonPlusSerializer(allowed_msgpack_modules=[("shop.orders", "Order")])`. With a serializer of
            this class values that are plain JSON are kept as such, for people to read; any other one, say one that
            encrypts, sees all values and metadata.
          messages: The channel whose last message is shown as the content of a checkpoint's event, as text: in the
            console, in searches, and to agents of other frameworks. By default `messages`, and with a serializer that
            is not LangGraph's own none; None for none.
          **connection: `token`, `headers`, `timeout`, `retry_for`, `ssl_context`, as of `sessiond.Client`.
        """
        super().__init__(serde=serde or _strict())
        self._app = app
        self._user = user
        if messages is ...:
            messages = "messages" if type(self.serde) is JsonPlusSerializer else None
        self._messages = messages
        self._client = Client(url, **connection)
        self._aclient = AsyncClient(url, **connection)
        self._memory = lg.Memory()
        # Of each some bytes for each channel.
        self._digests = lg.Memory(1_000)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Returns a checkpoint; the latest of its thread and namespace, if the config has no `checkpoint_id`."""
        thread, ns, id = _names(config)
        found = self._thread(thread, config).get(ns, id)
        return found and self._tuple(thread, *found)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Returns a checkpoint, see `get_tuple`."""
        thread, ns, id = _names(config)
        found = await self._athread(thread, config).get(ns, id)
        return found and self._tuple(thread, *found)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yields checkpoints, latest first: in the order in which they were stored.

        Args:
          config: The thread; and the namespace, else of all namespaces. None for all threads of the user (of all users
            of the app, if the user is a function), one after the other.
          filter: Only those whose metadata have these values.
          before: Only those that were stored before this one.
          limit: At most so many.
        """
        if limit is not None and limit <= 0:
            return
        if config is not None and _names(config)[2] is not None:
            found = self.get_tuple(config)
            if found and _is_asked_for(found, filter, before):
                yield found
            return
        for thread, name in [self._named(config)] if config else self._all():
            for each in thread.checkpoints(**_asked(config, filter, before, limit)):
                yield self._tuple(name, *each)
                if limit is not None and (limit := limit - 1) == 0:
                    return

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yields checkpoints, see `list`."""
        if limit is not None and limit <= 0:
            return
        if config is not None and _names(config)[2] is not None:
            found = await self.aget_tuple(config)
            if found and _is_asked_for(found, filter, before):
                yield found
            return
        threads = [self._anamed(config)] if config else [each async for each in self._aall()]
        for thread, name in threads:
            async for each in thread.checkpoints(**_asked(config, filter, before, limit)):
                yield self._tuple(name, *each)
                if limit is not None and (limit := limit - 1) == 0:
                    return

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint, whose parent is that of the config, and returns its own config.

        A checkpoint of the same id is replaced.
        """
        thread, ns, parent = _names(config)
        args = self._put(config, checkpoint, metadata, new_versions)
        self._thread(thread, config).put(ns, checkpoint["id"], parent, *args)
        return _config(thread, ns, checkpoint["id"])

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint, see `put`."""
        thread, ns, parent = _names(config)
        args = self._put(config, checkpoint, metadata, new_versions)
        await self._athread(thread, config).put(ns, checkpoint["id"], parent, *args)
        return _config(thread, ns, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores what a task has written after the checkpoint of the config, which may be stored later."""
        thread, ns, id = _names(config)
        if writes and id is not None:
            self._thread(thread, config).put_writes(ns, id, task_id, task_path, _indexed(writes))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores what a task has written, see `put_writes`."""
        thread, ns, id = _names(config)
        if writes and id is not None:
            await self._athread(thread, config).put_writes(ns, id, task_id, task_path, _indexed(writes))

    def delete_thread(self, thread_id: str) -> None:
        """Deletes the session of a thread, if there is one, with all that is in it."""
        self._thread(thread_id).delete()

    async def adelete_thread(self, thread_id: str) -> None:
        """Deletes a thread, see `delete_thread`."""
        await self._athread(thread_id).delete()

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies a thread, if there is one: the whole session, as it is at that moment.

        Raises:
          ConflictError: There is a session of the target's id. Nothing is merged.
        """
        self._thread(source_thread_id).copy(target_thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies a thread, see `copy_thread`."""
        await self._athread(source_thread_id).copy(target_thread_id)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Removes old checkpoints of threads.

        Args:
          thread_ids: The threads.
          strategy: `"keep_latest"` keeps the latest of each namespace, and trims the log of the session to where the
            oldest of these begins: what others have written before that place is gone, too. What lies between is
            not read again, and stays in the log. It takes the role `operator`. `"delete"` deletes the threads.

        Raises:
          InputError: A kept checkpoint has a `DeltaChannel`, whose values are made of earlier ones.
          ValueError: There is no such strategy.
        """
        for id in thread_ids:
            thread = self._thread(id)
            thread.delete() if _deletes(strategy) else thread.prune()

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Removes old checkpoints, see `prune`."""
        for id in thread_ids:
            thread = self._athread(id)
            await (thread.delete() if _deletes(strategy) else thread.prune())

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Drops the checkpoints of runs, with what was written for them, in all threads of the user.

        They are not read again; they stay in the log of their session, until that is trimmed. It reads the log of each
        session of the user.
        """
        if run_ids:
            for thread, _ in self._all():
                thread.drop_runs(run_ids)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Drops the checkpoints of runs, see `delete_for_runs`."""
        if run_ids:
            async for thread, _ in self._aall():
                await thread.drop_runs(run_ids)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Returns what the ancestors of a checkpoint have written to channels, in one scan of the log."""
        thread, ns, id = _names(config)
        found = self._thread(thread, config).history(ns, id, channels) if channels else {}
        return cast("Mapping[str, DeltaChannelHistory]", found)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Returns what ancestors have written, see `get_delta_channel_history`."""
        thread, ns, id = _names(config)
        found = await self._athread(thread, config).history(ns, id, channels) if channels else {}
        return cast("Mapping[str, DeltaChannelHistory]", found)

    def others(self, config: RunnableConfig, *, tools: Callable[[str], bool] | None = None) -> _List[AnyMessage]:
        """Returns what others have said in the session since the last run of the graph began, for the next input.

            graph.invoke({"messages": [*saver.others(config), HumanMessage("And a cake.")]}, config)

        Their ids are made of those of the events: `add_messages` adds each once, however often it is given. What the
        checkpoint has in its channel of messages is left out. Nothing is stored.

        Args:
          config: The thread; with a `checkpoint_id`, the run is that of this checkpoint.
          tools: Whether the graph has a tool of this name: calls of others are told as text. By default it has all.
        """
        thread, ns, id = _names(config)
        session = self._thread(thread, config)._session
        said = said_since(session, self._codec(), ns, id, tools or True)
        return self._new(said, self.get_tuple(config) if said else None)

    async def aothers(self, config: RunnableConfig, *, tools: Callable[[str], bool] | None = None) -> _List[AnyMessage]:
        """Returns what others have said, see `others`."""
        thread, ns, id = _names(config)
        session = self._athread(thread, config)._session
        said = await asaid_since(session, self._codec(), ns, id, tools or True)
        return self._new(said, await self.aget_tuple(config) if said else None)

    def _new(self, said: Sequence[Said], found: CheckpointTuple | None) -> _List[AnyMessage]:
        values = found.checkpoint["channel_values"] if found else {}
        messages = values.get(self._messages or "messages")
        known = {getattr(each, "id", None) for each in messages} if isinstance(messages, _List) else ()
        return messages_of(said, known)

    def get_next_version(self, current: str | float | None, channel: None = None) -> str:
        """Returns a version that is larger than the current one, and that no other writer draws."""
        number = 0 if current is None else int(current.partition(".")[0]) if isinstance(current, str) else int(current)
        return f"{number + 1:032}.{random.getrandbits(32):08x}"

    def close(self) -> None:
        """Closes the connections of the synchronous methods. The saver can be used again."""
        self._client.close()

    async def aclose(self) -> None:
        """Closes the connections of the asynchronous methods in the running event loop."""
        await self._aclient.close()

    def __enter__(self) -> Self:
        """Returns the saver."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connections."""
        self.close()

    async def __aenter__(self) -> Self:
        """Returns the saver."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connections."""
        await self.aclose()

    def _codec(self) -> lg.Codec:
        # Not kept: LangGraph makes copies of savers with another serializer.
        return lg.Codec(self.serde, type(self.serde) is JsonPlusSerializer)

    def _user_of(self, thread_id: str, config: RunnableConfig | None) -> str:
        if isinstance(self._user, str):
            return self._user
        return self._user(config or {"configurable": {"thread_id": thread_id}})

    def _thread(self, id: str, config: RunnableConfig | None = None) -> Thread:
        session = self._client.session(self._app, self._user_of(id, config), whole_id(id, "id of the thread"))
        return Thread(session, self._codec(), self._memory, self._digests)

    def _athread(self, id: str, config: RunnableConfig | None = None) -> AsyncThread:
        session = self._aclient.session(self._app, self._user_of(id, config), whole_id(id, "id of the thread"))
        return AsyncThread(session, self._codec(), self._memory, self._digests)

    def _named(self, config: RunnableConfig) -> tuple[Thread, str]:
        id = _names(config)[0]
        return self._thread(id, config), id

    def _anamed(self, config: RunnableConfig) -> tuple[AsyncThread, str]:
        id = _names(config)[0]
        return self._athread(id, config), id

    def _all(self) -> Iterator[tuple[Thread, str]]:
        for each in self._client.sessions(self._app, self._user if isinstance(self._user, str) else None):
            session = self._client.session(self._app, each.user, each.id)
            yield Thread(session, self._codec(), self._memory, self._digests), each.id

    async def _aall(self) -> AsyncIterator[tuple[AsyncThread, str]]:
        async for each in self._aclient.sessions(self._app, self._user if isinstance(self._user, str) else None):
            session = self._aclient.session(self._app, each.user, each.id)
            yield AsyncThread(session, self._codec(), self._memory, self._digests), each.id

    def _put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any], Any]:
        shown = self._messages if self._messages in new_versions else None
        content = lg.content_of(checkpoint["channel_values"].get(shown)) if shown else None
        return checkpoint, get_checkpoint_metadata(config, metadata), new_versions, content

    def _tuple(
        self, thread: str, found: lg.Found, values: dict[str, Any], writes: Sequence[tuple[str, str, Any]]
    ) -> CheckpointTuple:
        codec, said = self._codec(), lg.mark(found.event)
        checkpoint: Any = {**codec.unpack(said["checkpoint"], {}), "channel_values": values}
        return CheckpointTuple(
            config=_config(thread, found.ns, found.id),
            checkpoint=checkpoint,
            metadata=codec.unpack(said["metadata"], {}),
            parent_config=None if found.parent is None else _config(thread, found.ns, found.parent),
            pending_writes=[*writes],
        )


def _strict() -> JsonPlusSerializer:
    """Returns LangGraph's serializer, which makes objects of no classes but those that LangGraph calls safe."""
    try:
        return JsonPlusSerializer(allowed_msgpack_modules=None)
    except TypeError:
        # Before 4.0.1 there is no such setting.
        return JsonPlusSerializer()


def _names(config: RunnableConfig) -> tuple[str, str, str | None]:
    """Returns thread, namespace and checkpoint of a config."""
    named = config["configurable"]
    thread = named["thread_id"]
    # As LangGraph's own stores have them; None would be the thread of all who have none.
    if isinstance(thread, int | UUID) and not isinstance(thread, bool):
        thread = str(thread)
    return thread, named.get("checkpoint_ns") or "", named.get("checkpoint_id") or None


def _config(thread: str, ns: str, id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": id}}


def _indexed(writes: Sequence[tuple[str, Any]]) -> list[tuple[int, str, Any]]:
    return [(WRITES_IDX_MAP.get(channel, index), channel, value) for index, (channel, value) in enumerate(writes)]


def _matches(filter: dict[str, Any] | None) -> Callable[[Any], bool] | None:
    if not filter:
        return None
    return lambda metadata: all(metadata.get(name) == value for name, value in filter.items())


def _asked(
    config: RunnableConfig | None, filter: dict[str, Any] | None, before: RunnableConfig | None, limit: int | None
) -> dict[str, Any]:
    """Returns the arguments of the list of a thread."""
    asked = config["configurable"].get("checkpoint_ns") if config else None
    _, ns, id = _names(before) if before else ("", "", None)
    return {
        "ns": asked,
        "before": None if id is None else (ns or asked or "", id),
        "limit": limit,
        "matches": _matches(filter),
    }


def _is_asked_for(found: CheckpointTuple, filter: dict[str, Any] | None, before: RunnableConfig | None) -> bool:
    matches, (_, _, bound) = _matches(filter), _names(before) if before else ("", "", None)
    return (matches is None or matches(found.metadata)) and (bound is None or found.checkpoint["id"] < bound)


def _deletes(strategy: str) -> bool:
    if strategy not in ("keep_latest", "delete"):
        raise ValueError(f"There is no strategy {strategy}: there are keep_latest and delete.")
    return strategy == "delete"
