"""What the adapters for frameworks share: how their objects are kept, and how a write is seen through."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

from ._async.client import AsyncClient
from ._json import dumps, loads
from ._paths import new_id
from ._records import Event
from ._sync.client import Client

T = TypeVar("T")

# The server takes 64 levels of one value; the rest is for what an object is kept in.
_DEEPEST = 58

# Bytes of what is said, beside the object that has it, too: an event may have 4 MiB.
_SHOWN = 1 << 20

# Of one request: half of what a server takes.
_EVENTS, _BYTES = 500, 4 << 20

# Of integers that a double can hold.
_DIGITS = 308


def missing(extra: str, error: ImportError) -> ImportError:
    """Returns the error of an adapter whose framework is not installed, or is another version."""
    return ImportError(f"This needs the extra `{extra}`: pip install 'sessiond-client[{extra}]' ({error}).")


@cache
def shared_client() -> AsyncClient:
    """Returns the client of who gives none, one for the process: SESSIOND_URL and SESSIOND_TOKEN say where it asks."""
    return AsyncClient()


@cache
def shared_sync_client() -> Client:
    """Returns the same, of a synchronous adapter."""
    return Client()


def asynchronous(client: AsyncClient | None) -> AsyncClient:
    """Returns the client that an adapter was given, else that of the process. Raises TypeError for another kind."""
    if client is not None and not isinstance(client, AsyncClient):
        raise TypeError(
            f"This adapter is asynchronous: its client is a sessiond.AsyncClient, no {type(client).__name__}."
        )
    return client or shared_client()


def synchronous(client: Client | None) -> Client:
    """Returns the same, of a synchronous adapter."""
    if client is not None and not isinstance(client, Client):
        raise TypeError(f"This adapter is synchronous: its client is a sessiond.Client, no {type(client).__name__}.")
    return client or shared_sync_client()


def kept(name: str, value: Any) -> dict[str, Any]:
    """Returns an object of a framework as it is kept: under this name, or as text if sessiond refuses such JSON.

    That is what is nested too deeply, half of a character, and integers that no double holds. NaN and infinities are
    refused when it is sent.
    """
    return {name: value} if fits(value) else {"json": json.dumps(value, allow_nan=False)}


def shown(name: str, field: Mapping[str, Any]) -> Any:
    """Returns the object that `kept` was given."""
    return field[name] if name in field else loads(field["json"])


def fits(value: Any, depth: int = 0) -> bool:
    """Whether sessiond takes this as JSON. Of what is no JSON at all, the error comes when it is sent."""
    if isinstance(value, dict):
        return depth < _DEEPEST and all(
            fits(name) and "\0" not in str(name) and fits(member, depth + 1) for name, member in value.items()
        )
    if isinstance(value, list | tuple):
        return depth < _DEEPEST and all(fits(member, depth + 1) for member in value)
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
    return not isinstance(value, int) or abs(value) < 10**_DIGITS


def digest(*texts: str) -> str:
    """Returns a short text that is the same for the same texts, in the TypeScript client, too."""
    said = json.dumps(texts, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(hashlib.sha256(said).digest())[:22].decode()


def readable(text: str) -> str:
    """Returns a text for people, with a mark in the place of half of a character."""
    return text.encode("utf-8", "replace").decode()


def content(role: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the field of an event that says this; none if there are no parts, or more than go twice into an event."""
    return {"content": {"role": role, "parts": parts}} if parts and len(json.dumps(parts)) <= _SHOWN else {}


def text_part(text: str) -> list[dict[str, Any]]:
    """Returns a part for people and agents; none of an empty text."""
    return [{"text": readable(text)}] if text else []


def call_part(id: Any, name: Any, args: Any) -> dict[str, Any]:
    """Returns the call of a tool; `args` that are no object are left out."""
    return {"functionCall": {"id": id, "name": name, "args": args if isinstance(args, dict) and fits(args) else {}}}


def response_part(id: Any, name: Any, response: Any) -> dict[str, Any]:
    """Returns what a tool answered."""
    answer = response if isinstance(response, dict) else {"result": response}
    if not fits(answer):
        answer = {"result": readable(json.dumps(response))}
    return {"functionResponse": {"id": id, **({"name": name} if name else {}), "response": answer}}


def rewind(group: str) -> dict[str, Any]:
    """Returns the event that takes back all from the first event of this group on; state stays."""
    actions = {"rewindBeforeInvocationId": group}
    return {"id": new_id(), "author": "user", "invocationId": f"rewind-{new_id()}", "actions": actions}


def again(event: Event, **changed: Any) -> dict[str, Any]:
    """Returns an event to append once more behind a rewind: what it says stays, and it changes no state."""
    copy = {name: value for name, value in event.items() if name not in ("sequence", "commitTime", "redacted")}
    actions = {
        name: value
        for name, value in event.actions.items()
        if name not in ("stateDelta", "stateOps", "preconditions", "artifactDelta")
    }
    metadata = {**(event.metadata or {}), "rewindCopyOf": event.id}
    return {**copy, "id": new_id(), "actions": actions, "customMetadata": metadata, **changed}


def batches(items: Iterable[T], event: Callable[[T], Any]) -> Iterator[list[T]]:
    """Yields items, in order, whose events fit into one request; at least one at a time."""
    batch: list[T] = []
    size = 0
    for item in items:
        more = len(dumps(event(item)))
        if batch and (len(batch) == _EVENTS or size + more > _BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += more
    yield batch


async def seen_through(write: Coroutine[Any, Any, T]) -> T:
    """Waits for the end of a write that has begun, also if the caller is cancelled; then it is cancelled."""
    task = asyncio.ensure_future(write)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
    if cancelled is not None:
        # Read, or asyncio would log that nobody has.
        task.cancelled() or task.exception()
        raise cancelled
    return task.result()
