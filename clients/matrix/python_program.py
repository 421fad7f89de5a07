"""The Python client, driven by the test over all languages: a JSON object a line on stdin, one on stdout.

    SESSIOND_URL=http://127.0.0.1:8080 clients/python/.venv/bin/python clients/matrix/python_program.py

Each line has `do` (create, get, append, copy, increment, watch, save, load, files), `app`, `user`, `session` and what
that command needs. It is answered by `{"ok": true, ...}`, or by `{"ok": false, "error", "code", "status"}`; the last
two are sessiond's, or null. Versions of files are numbered as the framework does.
"""

import asyncio
import base64
import json
import os
import sys
from contextlib import aclosing
from typing import Any

from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.session import Session
from google.genai import types

from sessiond_adk import EventItem, SessiondArtifactService, SessiondError, SessiondSessionService


def event(given: dict[str, Any]) -> Event:
    """ADK's event for one of a command."""
    role = "user" if given["author"] == "user" else "model"
    return Event(
        id=given["id"],
        author=given["author"],
        invocation_id=given["invocationId"],
        timestamp=given["timestamp"],
        content=types.Content(role=role, parts=[types.Part(text=given["text"])]),
        actions=EventActions(state_delta=given["stateDelta"], artifact_delta=given.get("artifactDelta", {})),
    )


async def load(service: SessiondSessionService, names: dict[str, Any]) -> Session:
    session = await service.get_session(**names)
    if session is None:
        raise SessionNotFoundError
    return session


def part(command: dict[str, Any]) -> types.Part:
    """ADK's part for a file of a command."""
    if "text" in command:
        return types.Part(text=command["text"])
    content = base64.b64decode(command["data"])
    name = command.get("displayName")
    return types.Part(inline_data=types.Blob(data=content, mime_type=command["mimeType"], display_name=name))


def said(part: types.Part | None) -> dict[str, Any]:
    """What a command answers about a file that was loaded."""
    if part is None:
        return {}
    if part.inline_data is None:
        return {"text": part.text}
    blob = part.inline_data
    content = base64.b64encode(blob.data or b"").decode()
    name = {} if blob.display_name is None else {"displayName": blob.display_name}
    return {"data": content, "mimeType": blob.mime_type, **name}


async def run(
    service: SessiondSessionService, artifacts: SessiondArtifactService, command: dict[str, Any]
) -> dict[str, Any]:
    """Does what a line says."""
    names = {"app_name": command["app"], "user_id": command["user"], "session_id": command["session"]}
    match command["do"]:
        case "create":
            session = await service.create_session(**names, state=command["state"])
            return {"state": session.state}
        case "get":
            session = await load(service, names)
            ids = [event.id for event in session.events]
            delta = {name: at for event in session.events for name, at in event.actions.artifact_delta.items()}
            told = [
                [event.author, part.text]
                for event in session.events
                for part in (event.content and event.content.parts) or ()
                if part.text
            ]
            known = {"state": session.state, "lastUpdateTime": session.last_update_time}
            return {"events": ids, "said": told, "artifacts": delta, **known}
        case "append":
            session = await load(service, names)
            await service.append_event(session, event(command["event"]))
            return {"state": session.state}
        case "copy":
            # What the framework has of each event, and nothing else, goes into the other session.
            target = await load(service, {**names, "session_id": command["to"]})
            for read in (await load(service, names)).events:
                await service.append_event(target, read)
            return {}
        case "increment":
            key = command["key"]
            operator = {"op": "increment", "key": key, "value": command["by"]}
            return {"value": (await service.apply_ops(await load(service, names), [operator]))[key]}
        case "watch":
            seen: list[str] = []
            async with aclosing(service.watch(**names)) as items:
                while len(seen) < command["count"]:
                    item = await anext(items)
                    if isinstance(item, EventItem):
                        seen.append(item.event.id)
            return {"events": seen}
        case "save":
            return {"version": await artifacts.save_artifact(**names, filename=command["name"], artifact=part(command))}
        case "load":
            version = command.get("version")
            return said(await artifacts.load_artifact(**names, filename=command["name"], version=version))
        case "files":
            return {"names": await artifacts.list_artifact_keys(**names)}
        case other:
            raise ValueError(f"There is no command {other}.")


async def main() -> None:
    url = os.environ["SESSIOND_URL"]
    async with SessiondSessionService(url) as service, SessiondArtifactService(url) as artifacts:
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                answer = {"ok": True, **await run(service, artifacts, json.loads(line))}
            except Exception as error:
                # ADK's own errors have what sessiond said as their cause.
                cause = error if isinstance(error, SessiondError) else error.__cause__
                code, status = (cause.code, cause.status) if isinstance(cause, SessiondError) else (None, None)
                if isinstance(error, SessionNotFoundError):
                    code, status = "session_not_found", 404
                answer = {"ok": False, "error": f"{type(error).__name__}: {error}", "code": code, "status": status}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
