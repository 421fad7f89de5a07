"""The example does what its README, and that of the repository, show."""

import asyncio
import os
import re
import shlex
import sys
from pathlib import Path

import httpx
import pytest

from ..support.process import Program, Server, free_port, running
from .test_cli import ADK

ROOT = Path(__file__).resolve().parents[4]
EXAMPLE = ROOT / "examples/adk-python"


def transcripts(readme: Path, script: str) -> list[tuple[str, str]]:
    """The runs of a script that a README shows: the arguments, and what it prints."""
    runs = re.findall(
        rf"^\$ \.venv/bin/python ({script} .*)\n((?:.+\n)+)", readme.read_text(encoding="utf-8"), re.MULTILINE
    )
    return [(arguments, shown.removesuffix("```\n")) for arguments, shown in runs]


@pytest.mark.parametrize(("readme", "number"), [(EXAMPLE / "README.md", 3), (ROOT / "README.md", 1)])
def test_the_example_prints_its_transcript(own_server: Server, readme: Path, number: int) -> None:
    runs = transcripts(readme, r"main\.py")
    assert len(runs) == number
    for arguments, shown in runs:
        ran = Program(*shlex.split(arguments), cwd=EXAMPLE, env={"SESSIOND_URL": own_server.url})
        assert ran.wait() == 0, ran.errors
        assert ran.output == shown


async def test_a_session_of_adk_web_is_followed(own_server: Server) -> None:
    ((arguments, shown),) = transcripts(EXAMPLE / "README.md", r"follow\.py")
    said = shown.splitlines()[0].removeprefix("user: ")
    # The runs that the README shows before it.
    (number,) = re.findall(r"Order (\d+)", shown)
    async with httpx.AsyncClient(base_url=own_server.url, timeout=60) as plain:
        earlier = {"stateDelta": {"orders": int(number) - 1}}
        (await plain.patch("/v1/apps/cafe/state", json=earlier)).raise_for_status()

    url = f"http://127.0.0.1:{free_port()}"
    uri = own_server.url.replace("http://", "sessiond://")
    web = [*ADK, "web", f"--session_service_uri={uri}", "--port", url.rpartition(":")[2], str(EXAMPLE)]
    with running(*web, url=f"{url}/list-apps"):
        async with httpx.AsyncClient(base_url=url, timeout=60) as adk:
            session = (await adk.post("/apps/cafe/users/user/sessions", json={})).raise_for_status().json()
            follower = await asyncio.create_subprocess_exec(
                sys.executable,
                *shlex.split(arguments),
                cwd=EXAMPLE,
                env={**os.environ, "SESSIOND_URL": own_server.url},
                stdout=asyncio.subprocess.PIPE,
            )
            assert follower.stdout is not None
            message = {"role": "user", "parts": [{"text": said}]}
            run = {"appName": "cafe", "userId": "user", "sessionId": session["id"], "newMessage": message}
            (await adk.post("/run", json=run)).raise_for_status()
            lines = [await asyncio.wait_for(follower.stdout.readline(), 60) for _ in shown.splitlines()]
            assert b"".join(lines).decode() == shown
            # It is still there, and sees the end.
            await adk.delete(f"/apps/cafe/users/user/sessions/{session['id']}")
            rest, _ = await asyncio.wait_for(follower.communicate(), 60)
            assert (rest.decode(), follower.returncode) == ("The session is gone: deleted.\n", 0)
