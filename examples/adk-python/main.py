"""Says something to the agents of the café, in a new session: python main.py USER MESSAGE."""

import asyncio
import os
import sys
import warnings

from google.adk.runners import Runner
from google.genai import types

from sessiond_adk import SessiondSessionService

# ADK calls agents in a fixed order deprecated, in favour of its workflows.
warnings.simplefilter("ignore", DeprecationWarning)

from cafe.agent import root_agent  # noqa: E402


async def main(user: str, message: str) -> None:
    async with SessiondSessionService(os.environ.get("SESSIOND_URL", "http://127.0.0.1:8080")) as sessions:
        runner = Runner(app_name="cafe", agent=root_agent, session_service=sessions)
        session = await sessions.create_session(app_name="cafe", user_id=user)
        print(f"{user}: {message}")
        async for event in runner.run_async(
            user_id=user, session_id=session.id, new_message=types.UserContent(message)
        ):
            for part in (event.content and event.content.parts) or []:
                if part.text:
                    print(f"{event.author}: {part.text}")

        # As stored, for any other process to read.
        stored = await sessions.get_session(app_name="cafe", user_id=user, session_id=session.id)
        assert stored is not None
        print("app state:    ", {key: value for key, value in stored.state.items() if key.startswith("app:")})
        print("user state:   ", {key: value for key, value in stored.state.items() if key.startswith("user:")})
        print("session state:", {key: value for key, value in stored.state.items() if ":" not in key})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1], sys.argv[2]))
