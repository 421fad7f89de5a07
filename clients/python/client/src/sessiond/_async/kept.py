"""Objects of frameworks in the events, state and files of a session: what of that asks the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _frameworks
from .._errors import NotFoundError, SessiondError
from .._json import dumps
from .._paths import new_id, segment
from .session import AsyncSession


async def stored(
    session: AsyncSession, events: Sequence[Mapping[str, Any]], prefix: str, *, create: bool = True
) -> list[dict[str, Any]]:
    """Returns events that are to be appended at once; objects that are too large for that are files of the session.

    The files are saved when this returns, each once for an event, whatever the version that was there. The events name
    them, so that copies of the session have them, too.

    Raises:
      InputError: One is larger than a file may be, or is no JSON.
      NotFoundError: There is no such session, and it is not to be made.
    """
    most = _frameworks.large(events)
    if most is None:
        return [{**event} for event in events]
    result = []
    for event in events:
        made, delta = {**event}, dict[str, int]()
        for kept in _frameworks.kept_in(event):
            if len(dumps(kept)) > most:
                made.setdefault("id", new_id())
                file, data = kept.in_file(prefix, made["id"])
                version = await _save(session, file["name"], data, create)
                made = _frameworks.in_place(made, kept, kept.without({**file, "version": version}))
                delta[file["name"]] = version
        if delta:
            made["actions"] = {**made.get("actions", {}), "artifactDelta": delta}
        if "content" in made and len(dumps(made["content"])) > most:
            del made["content"]
        result.append(made)
    return result


async def _save(session: AsyncSession, name: str, data: bytes, create: bool) -> int:
    files = session.artifacts
    while True:
        # By the key, the same again is the version that it was.
        reply = await session._http.send(
            "PUT",
            files._path + segment(name, "name of the file"),
            content=data,
            params={"event": "none"},
            headers={"Content-Type": "application/json", "Idempotency-Key": name, **files._fence},
        )
        if reply.code != "session_not_found" or not create:
            return int(reply.success()["version"])
        await session.create(exist_ok=True)


async def value(session: AsyncSession, name: str, field: Mapping[str, Any]) -> Any:
    """Returns the object that `Kept` was given. Raises SessiondError if its file is gone, or is another one."""
    if (file := field.get("file")) is None:
        return _frameworks.shown(name, field)
    try:
        data = await session.artifacts.get(file["name"], version=file["version"]).read()
    except NotFoundError as error:
        message = f"The file {file['name']} of the session is gone: redact the event that names it to go on without it."
        raise SessiondError(message, status=error.status, problem=error.problem) from error
    return _frameworks.checked(file, data)


async def said(
    session: AsyncSession, event: Mapping[str, Any], framework: str, name: str, may_say: Callable[[Any], bool]
) -> Any | None:
    """Returns the object of a framework in an event; None if there is none, or a user cannot have said that.

    The author `user` is free to whoever has a token of that role: so of it only what users say is believed.
    """
    metadata = event.get("customMetadata")
    field = metadata.get(framework) if isinstance(metadata, dict) else None
    if not _frameworks.is_kept(field, name):
        return None
    if event.get("author") != "user":
        return await value(session, name, field) if "file" in field or name not in field else field[name]
    try:
        found = await value(session, name, field)
        return found if may_say(found) else None
    except (ValueError, LookupError, TypeError, AttributeError):
        # It has not the form of what the adapter writes.
        return None


async def written(session: AsyncSession, key: str) -> Any | None:
    """Returns the value of a key of state as an agent has left it, whatever users have made of it; None of none.

    What a session was created with is not an agent's: adapters write in events. Of what was trimmed nobody knows.
    """
    try:
        # As a rule the first is what is wanted.
        for page_size in (1, 1000):
            async for change in session.state_history(key, page_size=page_size):
                if change.by["author"] != "user" if change.by else change.revision > 0:
                    return None if change.removed else change.value
                if page_size == 1:
                    break
    except NotFoundError:
        pass
    return None
