"""What the adapters for frameworks share: how their objects are kept, and how a write is seen through.

What of it asks the server is in `_async.kept`.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import math
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeGuard, TypeVar

from ._async.client import AsyncClient
from ._errors import InputError, SessiondError, refusal
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

# Bytes from which on an object is a file: fewer, if what goes into one request would be more than that together.
_LARGE = tuple(1 << n for n in (20, 18, 16, 14, 12))
_TOGETHER = 6 << 20

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


def agent(author: str) -> str:
    """Returns who says what a model says. Raises InputError if that is the user, of whom only prompts are believed."""
    if author == "user":
        raise InputError("An agent is not named `user`, as that is who asks it.")
    return author


class Kept(dict[str, Any]):
    """An object of a framework as it is kept: under its name, or as text if sessiond refuses such JSON.

    That is what is nested too deeply, half of a character, and numbers that JSON or doubles do not have. When it is
    stored, and is too large for an event, it is a file: see `_async.kept`.
    """

    def __init__(self, name: str, value: Any, **more: Any) -> None:
        """Takes it, and what is to be known beside it. Raises InputError for what is no JSON."""
        self.name = name if fits(value) else "json"
        try:
            super().__init__({self.name: value if self.name == name else json.dumps(value)}, **more)
        except (TypeError, ValueError, RecursionError) as error:
            raise refusal(f"What is to be kept is no JSON: {error}.", {}) from error

    def in_file(self, prefix: str, event_id: str) -> tuple[dict[str, Any], bytes]:
        """Returns what names its file, but for the version, and the bytes."""
        value = self[self.name]
        data = value.encode() if self.name == "json" else dumps(value)
        sha256 = hashlib.sha256(data).hexdigest()
        # One for each event: to remove what this one has takes nothing from others.
        return {"name": prefix + digest(event_id, sha256), "sha256": sha256}, data

    def without(self, file: dict[str, Any]) -> dict[str, Any]:
        """Returns it with the name of the file in its place."""
        return {"file": file, **{name: value for name, value in self.items() if name != self.name}}


def is_kept(field: Any, name: str) -> TypeGuard[dict[str, Any]]:
    """Whether this is a field that `Kept` made, or looks so."""
    if not isinstance(field, dict):
        return False
    if name in field or "json" in field:
        return True
    file = field.get("file")
    return isinstance(file, dict) and file.keys() == {"name", "version", "sha256"}


def shown(name: str, field: Mapping[str, Any]) -> Any:
    """Returns the object that `Kept` was given, unless it is a file."""
    return field[name] if name in field else loads(field["json"])


def checked(file: Mapping[str, Any], data: bytes) -> Any:
    """Returns the object of a file. Raises SessiondError if it has other bytes than were stored."""
    if hashlib.sha256(data).hexdigest() != file["sha256"]:
        raise SessiondError(f"The file {file['name']} of the session is not what an event says that it is.")
    return loads(data)


def large(events: Sequence[Mapping[str, Any]]) -> int | None:
    """Returns from which size on what is in events, which are one request, is too large for it; None if nothing is."""
    sizes = [len(dumps(part)) for event in events for part in (*kept_in(event), event.get("content")) if part]
    if max(sizes, default=0) <= _LARGE[0] and sum(sizes) <= _TOGETHER:
        return None
    return next((most for most in _LARGE if sum(size for size in sizes if size <= most) <= _TOGETHER), 0)


def kept_in(event: Mapping[str, Any]) -> list[Kept]:
    """Returns the objects in an event that is to be stored."""
    fields = (event.get("customMetadata"), event.get("actions", {}).get("stateDelta"))
    return [value for field in fields for value in (field or {}).values() if isinstance(value, Kept)]


def in_place(event: Mapping[str, Any], of: Kept, kept: Any) -> dict[str, Any]:
    """Returns an event with something in the place of an object."""

    def put(field: Any) -> Any:
        return {name: kept if value is of else value for name, value in field.items()}

    changed = {name: put(event[name]) for name in ("customMetadata",) if name in event}
    if "stateDelta" in event.get("actions", {}):
        changed["actions"] = {**event["actions"], "stateDelta": put(event["actions"]["stateDelta"])}
    return {**event, **changed}


def fits(value: Any, depth: int = 0) -> bool:
    """Whether sessiond takes this as JSON. Of what is no JSON at all, the error comes when it is sent.

    Names that are no texts may be two that are one in JSON: 1 and "1".
    """
    if isinstance(value, dict):
        return depth < _DEEPEST and all(
            isinstance(name, str) and fits(name) and "\0" not in name and fits(member, depth + 1)
            for name, member in value.items()
        )
    if isinstance(value, list | tuple):
        return depth < _DEEPEST and all(fits(member, depth + 1) for member in value)
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or abs(value) < 10**_DIGITS


def parsed(text: Any) -> Any:
    """Returns the value of a text that is JSON which sessiond takes; else None. Python reads `NaN` as well."""
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    return value if fits(value) else None


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
    args = args if isinstance(args, dict) and fits(args) else {}
    return {"functionCall": {"id": readable(str(id)), "name": readable(str(name)), "args": args}}


def response_part(id: Any, name: Any, response: Any) -> dict[str, Any]:
    """Returns what a tool answered."""
    answer = response if isinstance(response, dict) else {"result": response}
    if not fits(answer):
        answer = {"result": readable(response if isinstance(response, str) else json.dumps(response))}
    named = {"name": readable(str(name))} if name else {}
    return {"functionResponse": {"id": readable(str(id)), **named, "response": answer}}


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
