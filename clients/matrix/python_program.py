"""The Python client, driven by the test over all languages: a JSON object a line on stdin, one on stdout.

    SESSIOND_URL=http://127.0.0.1:8080 clients/python/.venv/bin/python clients/matrix/python_program.py

Each line has `do` (create, get, append, copy, increment, watch), `app`, `user`, `session` and what that command needs.
It is answered by `{"ok": true, ...}`, or by `{"ok": false, "error", "code", "status"}`; the last two are sessiond's, or
null.
"""

import asyncio
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

from sessiond_adk import EventItem, SessiondError, SessiondSessionService


def event(given: dict[str, Any]) -> Event:
    """ADK's event for one of a command."""
    role = "user" if given["author"] == "user" else "model"
    return Event(
        id=given["id"],
        author=given["author"],
        invocation_id=given["invocationId"],
        timestamp=given["timestamp"],
        content=types.Content(role=role, parts=[types.Part(text=given["text"])]),
        actions=EventActions(state_delta=given["stateDelta"]),
    )


async def load(service: SessiondSessionService, names: dict[str, Any]) -> Session:
    session = await service.get_session(**names)
    if session is None:
        raise SessionNotFoundError
    return session


async def run(service: SessiondSessionService, command: dict[str, Any]) -> dict[str, Any]:
    """Does what a line says."""
    names = {"app_name": command["app"], "user_id": command["user"], "session_id": command["session"]}
    match command["do"]:
        case "create":
            session = await service.create_session(**names, state=command["state"])
            return {"state": session.state}
        case "get":
            session = await load(service, names)
            ids = [event.id for event in session.events]
            return {"state": session.state, "events": ids, "lastUpdateTime": session.last_update_time}
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
        case other:
            raise ValueError(f"There is no command {other}.")


async def main() -> None:
    async with SessiondSessionService(os.environ["SESSIOND_URL"]) as service:
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                answer = {"ok": True, **await run(service, json.loads(line))}
            except Exception as error:
                # ADK's own errors have what sessiond said as their cause.
                said = error if isinstance(error, SessiondError) else error.__cause__
                code, status = (said.code, said.status) if isinstance(said, SessiondError) else (None, None)
                if isinstance(error, SessionNotFoundError):
                    code, status = "session_not_found", 404
                answer = {"ok": False, "error": f"{type(error).__name__}: {error}", "code": code, "status": status}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
