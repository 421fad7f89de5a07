"""One order through all frameworks, each in an environment of its own: see run-adapter-tests."""

import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from sessiond import Client

from ..support.process import Server
from .test_documents import EXAMPLES

Say = Callable[[str, str, str], str]

FRAMEWORKS = ["adk", "langgraph", "openai", "claude", "strands", "pydantic-ai"]


@pytest.fixture
def say(own_server: Server) -> Say:
    def run(framework: str, session_id: str, message: str) -> str:
        python = sys.executable if framework == "adk" else Path(os.environ["ADAPTERS"], framework, "bin/python")
        ran = subprocess.run(
            [python, "one_order.py", framework, session_id, message],
            cwd=EXAMPLES,
            env={**os.environ, "SESSIOND_URL": own_server.url},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return run


def test_each_goes_on_from_what_the_one_before_said(say: Say, own_server: Server) -> None:
    session_id = str(uuid.uuid4())
    # Each a second time reads what was said since, but Claude, which reads what was said before it began.
    again = [framework for framework in reversed(FRAMEWORKS) if framework != "claude"]
    for number, framework in enumerate([*FRAMEWORKS, *again], start=1):
        message = "A green tea, please." if number == 1 else "And then?"
        assert say(framework, session_id, message) == f"{framework}: Ticket {number}: green tea.\n"
        if number in (3, 8):
            own_server.stop(signal.SIGKILL)
            own_server.start()
    with Client(own_server.url) as db:
        messages = db.session("cafe", "ada", session_id).conversation()
    # All of it, once, and in order, by its authors.
    assert [message.role for message in messages] == ["user", "model"] * 11
    assert [message.text for message in messages[1::2]] == [f"Ticket {number}: green tea." for number in range(1, 12)]
    authors = dict(zip(FRAMEWORKS, (message.author for message in messages[1::2]), strict=False))
    assert authors == {
        "adk": "waiter",
        "langgraph": "langgraph.checkpoint",
        "openai": "host",
        "claude": "claude",
        "strands": "barista",
        "pydantic-ai": "cashier",
    }


def test_as_the_example_says(say: Say) -> None:
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    printed = re.findall(r"^\$ \S+/bin/python one_order\.py (\S+) (\S+) '(.*)'\n(.*\n)", readme, re.MULTILINE)
    assert [framework for framework, *_ in printed] == FRAMEWORKS
    for framework, session_id, message, shown in printed:
        assert say(framework, session_id, message) == shown
