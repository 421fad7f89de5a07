"""Follows the latest session of a user, while another program drives it: python follow.py USER."""

import asyncio
import contextlib
import os
import sys

from sessiond_adk import Deleted, EventItem, SessiondSessionService


async def main(user: str) -> None:
    async with SessiondSessionService(os.environ.get("SESSIOND_URL", "http://127.0.0.1:8080")) as sessions:
        found = (await sessions.list_sessions(app_name="cafe", user_id=user)).sessions
        if not found:
            sys.exit(f"{user} has no session yet.")
        # What was said so far, and then what is said now. It survives restarts of sessiond.
        async for item in sessions.watch(app_name="cafe", user_id=user, session_id=found[-1].id):
            match item:
                case EventItem(event=event):
                    for part in (event.content and event.content.parts) or []:
                        if part.text:
                            print(f"{event.author}: {part.text}", flush=True)
                case Deleted(reason=reason):
                    print(f"The session is gone: {reason}.", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1]))
