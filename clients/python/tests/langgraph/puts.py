"""Checkpoints as LangGraph makes them."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6

from sessiond.langgraph import SessiondSaver

Config = Any


def config(thread: str, ns: str = "", id: str | None = None) -> Config:
    named = {"thread_id": thread, "checkpoint_ns": ns}
    return {"configurable": named if id is None else {**named, "checkpoint_id": id}}


def child(saver: SessiondSaver, parent: Any, changed: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Returns a checkpoint that comes after another one, and the versions that are new in it."""
    checkpoint: Any = empty_checkpoint()
    checkpoint["id"] = str(uuid6())
    if parent is not None:
        checkpoint["channel_versions"] = dict(parent["channel_versions"])
        checkpoint["channel_values"] = dict(parent["channel_values"])
    new = {name: saver.get_next_version(checkpoint["channel_versions"].get(name)) for name in changed}
    checkpoint["channel_versions"].update(new)
    checkpoint["channel_values"].update(changed)
    return checkpoint, new


async def put(saver: Any, at: Config, changed: dict[str, Any], *, parent: Any = None, **metadata: Any) -> Config:
    """Puts such a checkpoint."""
    checkpoint, new = child(saver, parent, changed)
    return await saver.aput(at, checkpoint, metadata, new)


async def checkpoint_at(saver: BaseCheckpointSaver[str], at: Config) -> Any:
    found = await saver.aget_tuple(at)
    assert found is not None
    return found.checkpoint
